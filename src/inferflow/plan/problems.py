"""What is wrong with a config, where, and what might be meant.

An `error` keeps a config from becoming a plan. A `note` is said and then lived with.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Problem:
    where: str
    """Place in the config: `ranker.inputs.feature_map['user:profile:agee']`."""
    what: str
    hint: str = ""
    severity: Literal["error", "note"] = "error"

    @property
    def is_error(self) -> bool:
        return self.severity == "error"

    def __str__(self) -> str:
        hint = f" — {self.hint}" if self.hint else ""
        return f"{self.severity}: {self.where}: {self.what}{hint}"

    def as_dict(self) -> dict[str, str]:
        return asdict(self)


class Problems(list[Problem]):
    """Collects problems while work goes on, so that all are reported at once."""

    def error(self, where: str, what: str, hint: str = "") -> None:
        self.append(Problem(where, what, hint))

    def note(self, where: str, what: str, hint: str = "") -> None:
        self.append(Problem(where, what, hint, "note"))

    @property
    def errors(self) -> list[Problem]:
        return [problem for problem in self if problem.is_error]


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name most like this one, or an empty string when none is close."""
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.6)
    return found[0] if found else ""


def closest_hint(name: str, known: Iterable[str]) -> str:
    """`closest: 'user:profile:age'`, or nothing."""
    found = nearest(name, known)
    return f"closest: {found!r}" if found else ""
