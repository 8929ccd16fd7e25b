"""What became of one piece of a project that was to be pushed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Part = Literal["features", "expressions", "models", "configs"]
PARTS: tuple[Part, ...] = ("features", "expressions", "models", "configs")
"""In the order in which they are pushed: what others need comes first."""

State = Literal["pushed", "deleted", "differs", "unchanged", "refused", "skipped"]
"""`differs` is what a push would change, and did not because it was only asked."""


@dataclass(frozen=True, slots=True)
class Outcome:
    part: Part
    name: str
    """Empty when it is about the whole part."""
    state: State
    text: str

    @property
    def has_failed(self) -> bool:
        return self.state == "refused"

    def __str__(self) -> str:
        return (
            f"{self.part}  {self.name}: {self.text}" if self.name else f"{self.part}  {self.text}"
        )

    def as_dict(self) -> dict[str, str]:
        return {"part": self.part, "name": self.name, "state": self.state, "text": self.text}


Tell = Callable[[Outcome], None]
"""Told of each piece as soon as it is known what became of it."""
