"""Configs that are refused, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from inferflow.errors.root import Fault, InferflowError


class Describable(Protocol):
    """Anything that prints itself on one line, such as a plan's Problem."""

    def __str__(self) -> str: ...


class PlanRejected(InferflowError):
    """A config that cannot become a plan, with everything that is wrong with it."""

    fault = Fault.CALLER

    def __init__(self, config_id: str, problems: Sequence[Describable]) -> None:
        listed = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"config {config_id!r} has {len(problems)} problem(s):{listed}")
        self.config_id = config_id
        self.problems = tuple(problems)


class GoldenFailed(InferflowError):
    """A config that compiles, but does not give the answers its golden requests expect."""

    fault = Fault.CALLER

    def __init__(self, config_id: str, differences: Sequence[Describable]) -> None:
        listed = "".join(f"\n  {difference}" for difference in differences)
        super().__init__(
            f"config {config_id!r} fails {len(differences)} golden request(s), "
            f"and was not pushed:{listed}"
        )
        self.config_id = config_id
        self.differences = tuple(differences)


class VersionConflict(InferflowError):
    """Somebody else was first. The same push will never succeed: its author has to look at what
    is there now, and decide. That is why the fault is the caller's, and not "busy"."""

    fault = Fault.CALLER

    def __init__(self, config_id: str, expected: str, actual: str, current: int = 0) -> None:
        super().__init__(
            f"config {config_id!r}: expected {expected}, but there is {actual}; "
            "look at the difference, then push with the version you have seen"
        )
        self.config_id = config_id
        self.expected = expected
        self.actual = actual
        self.current = current
        """The newest version's number; 0 when there is none."""
