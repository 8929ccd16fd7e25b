"""What must hold whatever happened: looked for afterwards, in all that callers got.

Answers are held against a `Timeline` of what was live when. An answer that was right for no single
version, or for one that cannot have been live while it was asked for, is a violation; and so is a
failure that nothing explains.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

REMOVED = -1
"""The version of a config that is not there."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one call got."""

    began: float
    ended: float
    asked: Sequence[str]
    columns: Mapping[str, Sequence[float]]
    """By name; nothing, where the config was not found."""
    version: str = ""
    """As the server names it."""


@dataclass
class Timeline:
    """Which version was to be served from when on."""

    stale_s: float
    """How long a server may take to see a change."""
    changes: list[tuple[float, int]] = field(default_factory=list)

    def possible(self, began: float, ended: float) -> set[int]:
        """The versions that may answer a call, and `REMOVED` where there may be none."""
        earliest = began - self.stale_s
        before = [version for at, version in self.changes if at <= earliest][-1:]
        return {*before, *(version for at, version in self.changes if earliest < at <= ended)}


def violations(
    answers: Iterable[Answer], timeline: Timeline, worth: Mapping[str, float]
) -> Iterator[str]:
    """What is wrong with answers of configs as `versions.text_of` writes them."""
    named: dict[str, int] = {}
    for answer in answers:
        found = REMOVED if not answer.columns else _version(answer, worth)
        if found is None:
            yield f"of no single version: {answer}"
        elif found not in timeline.possible(answer.began, answer.ended):
            yield f"version {found} was not live: {answer}"
        elif found != REMOVED and named.setdefault(answer.version, found) != found:
            yield f"{answer.version} is version {named[answer.version]} too: {answer}"


def _version(answer: Answer, worth: Mapping[str, float]) -> int | None:
    """The one version whose column and whose values these are."""
    ((name, values),) = answer.columns.items()
    number = int(name)
    right = [1000 * number + worth[id] for id in answer.asked]
    return number if list(values) == right else None
