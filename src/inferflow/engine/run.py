"""Everything one request carries through the engine: its matrix, its deadline, its marks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from inferflow.engine.binding import Binding
from inferflow.engine.deadline import Deadline
from inferflow.engine.matrix import Matrix
from inferflow.engine.recording import Recording, StepRecord
from inferflow.engine.request import ScoreRequest
from inferflow.engine.slates import Slates
from inferflow.plan.plan import Plan, Space, Step

Array = np.ndarray[Any, np.dtype[Any]]


class Run:
    """One request on its way. Shared by its steps; never by two requests."""

    __slots__ = (
        "_marks",
        "binding",
        "deadline",
        "entities",
        "ids",
        "matrix",
        "nans",
        "plan",
        "recording",
        "records",
        "request",
        "routing_key",
        "slates",
    )

    def __init__(
        self,
        plan: Plan,
        request: ScoreRequest,
        binding: Binding,
        entities: dict[str, list[str]],
        ids: Sequence[str],
        slates: Slates | None,
        routing_key: str,
        deadline: Deadline,
        recording: Recording | None,
        records: Sequence[StepRecord] | None,
    ) -> None:
        self.plan = plan
        self.request = request
        self.binding = binding
        self.entities = entities
        self.ids = ids
        self.slates = slates
        self.routing_key = routing_key
        self.deadline = deadline
        self.recording = recording
        self.records = records
        self.matrix = Matrix(plan.blocks, len(ids), slates.count if slates else 0)
        self.nans: dict[str, int] = {}
        self._marks: list[tuple[Space, Array | None, str]] = []

    def mark(self, step: Step, rows: Array | None, what: str, space: Space = "target") -> None:
        """Rows (None: all) that carry an error to the caller."""
        self._marks.append((space, rows, f"{step.name}: {what}"))

    def errors(self, space: Space = "target") -> list[str]:
        """The error text of each row; empty where there is none."""
        count = self.matrix.rows if space == "target" else self.matrix.slates
        # Of two outputs with the same trouble one is enough to say so.
        told: list[dict[str, None]] = [{} for _ in range(count)]
        for where, rows, what in self._marks:
            if where != space:
                continue
            marked = range(count) if rows is None else np.flatnonzero(rows).tolist()
            for row in marked:
                told[row][what] = None
        return ["; ".join(texts) for texts in told]

    @property
    def has_marks(self) -> bool:
        return bool(self._marks)

    def record(self, step: Step) -> StepRecord | None:
        """Where a step notes what it did; None when nobody asked."""
        return None if self.records is None else self.records[step.index]
