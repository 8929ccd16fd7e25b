"""What the compilers of all kinds of steps have in common.

Each goes through the same turns: `declare` what it writes, `want` what it reads, `compile` once
every name has a place, and `prune` what turned out to be read by nobody.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

from inferflow.plan.catalog import Catalog
from inferflow.plan.columns import ColumnBook
from inferflow.plan.plan import Column, Step
from inferflow.plan.problems import Problems
from inferflow.plan.spec import ConfigSpec, StepSpec

Spec = TypeVar("Spec", bound=StepSpec)


class StepCompiler(ABC, Generic[Spec]):
    def __init__(
        self,
        step: Spec,
        spec: ConfigSpec,
        catalog: Catalog,
        book: ColumnBook,
        problems: Problems,
    ) -> None:
        self.readings: list[str] = []
        """How ambiguous parts were read, for `explain`."""
        self.facts: list[str] = []
        """What of the world the step depends on, for the plan's digest."""
        self._step = step
        self._spec = spec
        self._catalog = catalog
        self._book = book
        self._problems = problems
        self._begin()

    @abstractmethod
    def _begin(self) -> None:
        """Set up what this kind of step collects over its turns."""

    @abstractmethod
    def declare(self) -> None:
        """Say which columns the step writes."""

    @abstractmethod
    def want(self) -> None:
        """Say which names the step reads."""

    @abstractmethod
    def compile(self, place: dict[str, Any]) -> Step:
        """The step with every name resolved. `place` is where it stands in the graph."""

    def prune(self, step: Step, read_blocks: frozenset[int]) -> Step:  # noqa: ARG002
        """The step without what nobody reads."""
        return step

    def input_columns(self) -> dict[str, Column]:
        """Columns the step computes with, by the names it reads them under."""
        return {}

    @abstractmethod
    def logged(self) -> list[Column]:
        """Columns the full log schema lists for this step."""
