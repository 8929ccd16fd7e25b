"""What a key may do, and for which models.

A pattern is a model's name in which `*` stands for any characters; nothing else is special. A key
without patterns is good for all models.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from inferflow.errors import InvalidInput

MOST_PATTERNS = 256
LONGEST_PATTERN = 128

_PATTERN = re.compile(r"[A-Za-z0-9._*-]+")


class Permission(enum.StrEnum):
    """What a key may be good for. `ADMIN` does not include the others: a key that manages keys
    need not be able to read every model's answers."""

    INFERENCE = "inference"
    """Score, infer, compute; read the features that takes."""
    VIEW = "view"
    """Look at configs, recordings, features, logs and metrics."""
    CONFIGURE = "configure"
    """Change configs and features."""
    UPLOAD = "upload"
    """Register models."""
    ADMIN = "admin"
    """Manage keys, workers, stages and traffic."""
    WORKER = "worker"
    """Be a part of the system: join a fleet, ask whose key was shown."""


def permissions_of(names: Iterable[str]) -> frozenset[Permission]:
    """Permissions by their names. Raises InvalidInput for an unknown one, or for none at all."""
    try:
        found = frozenset(Permission(name) for name in names)
    except ValueError as unknown:
        known = ", ".join(Permission)
        raise InvalidInput(f"permissions: {unknown}; there are {known}") from None
    if not found:
        raise InvalidInput("permissions: a key without any is good for nothing")
    return found


@dataclass(frozen=True, slots=True)
class ModelPatterns:
    """Which models somebody may name. Equal when written the same."""

    patterns: tuple[str, ...] = ()
    _matching: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(self.patterns) > MOST_PATTERNS:
            raise InvalidInput(f"models: {len(self.patterns)} patterns; at most {MOST_PATTERNS}")
        for pattern in self.patterns:
            _check(pattern)
        choices = "|".join(_as_expression(pattern) for pattern in self.patterns)
        object.__setattr__(self, "_matching", re.compile(choices or ".*", re.DOTALL))

    def allow(self, model: str) -> bool:
        return self._matching.fullmatch(model) is not None

    def cover(self, others: ModelPatterns) -> bool:
        """Whether each model of `others` is surely among these: a pattern with `*` only when it
        is one of these, as it is written."""
        if not self.patterns:
            return True
        return bool(others.patterns) and all(
            each in self.patterns or ("*" not in each and self.allow(each))
            for each in others.patterns
        )


def _check(pattern: str) -> None:
    if len(pattern) > LONGEST_PATTERN or not _PATTERN.fullmatch(pattern):
        raise InvalidInput(
            f"models: {pattern[:LONGEST_PATTERN]!r} is not a model name with `*` in place of any "
            f"characters; letters, digits, '.', '_' and '-', at most {LONGEST_PATTERN}"
        )
    # Many stars make matching slow for names chosen to be almost right.
    if pattern.count("*") > 2:
        raise InvalidInput(f"models: {pattern!r} has more than two `*`")


def _as_expression(pattern: str) -> str:
    return ".*".join(re.escape(piece) for piece in pattern.split("*"))
