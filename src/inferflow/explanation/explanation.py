"""Facts, and the text that says them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from inferflow.errors import InvalidInput


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """Look at it, or read its facts with `to_dict()`."""

    _facts: Mapping[str, Any]
    _text: str
    failure: str = ""
    """Why the request explained here was not answered; empty when it was."""
    _items: Callable[[str], Explanation] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The facts as plain values, ready for JSON."""
        return dict(self._facts)

    def item(self, target: object) -> Explanation:
        """Every column of one target: its value, where it came from and how real it is."""
        if self._items is None:
            raise InvalidInput("only an explained request has items; give explain a request")
        return self._items(str(target))

    def __repr__(self) -> str:
        """The text, so that a prompt and a notebook show it as it is."""
        return self._text
