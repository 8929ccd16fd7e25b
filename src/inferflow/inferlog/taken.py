"""A finished request that was chosen to be logged, and what its plan says about logging.

It refers to the request's own matrix, which nobody changes any more, so taking it copies nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from inferflow.engine.request import user_of
from inferflow.engine.run import Run
from inferflow.inferlog.schema import LogSchema, PlacedField, log_schema, placed_fields
from inferflow.plan.plan import ModelStep, Plan, Space
from inferflow.tracing import Span

_UNKNOWN_BYTES = 64
"""Of a value whose length only the request knows, for want of anything better."""
_REQUEST_BYTES = 4096
"""Of what is kept of a request beside the values of its rows."""


class PlanLog:
    """What is known about the log of a config as soon as it is loaded."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.schema: LogSchema = log_schema(plan)
        self.digest = self.schema.digest
        self.placed: Sequence[PlacedField] = placed_fields(plan)
        self.models = tuple(
            (step.name, step.index) for step in plan.steps if isinstance(step, ModelStep)
        )
        self._row_bytes = sum(
            _UNKNOWN_BYTES
            if block.dtype is None or block.width is None or block.dtype.is_text
            else block.width * block.dtype.size
            for block in plan.blocks
        )

    def messages(self, run: Run) -> int:
        """How many messages a request makes."""
        size = self.plan.log.batch_size
        return sum(-(-run.matrix.count(space) // size) for space in spaces_of(run))

    def bytes_of(self, run: Run) -> int:
        """About how much memory a request keeps, at most."""
        return _REQUEST_BYTES + (run.matrix.rows + run.matrix.slates) * self._row_bytes


@dataclass(frozen=True, slots=True)
class Taken:
    run: Run
    log: PlanLog
    at: float
    """When it was answered, in seconds since the epoch."""
    size: int
    """Bytes it keeps in memory, about."""
    span: Span | None = None
    """That of the call it was answered for, where its trace is kept."""

    @property
    def config_id(self) -> str:
        return self.log.plan.config_id

    @property
    def experiment(self) -> str:
        """The id that was asked for, when that stands for several configs."""
        asked = self.run.request.config_id
        return asked if asked != self.config_id else ""

    @property
    def user_id(self) -> str:
        return user_of(self.run.request, self.run.entities)

    def models(self) -> dict[str, tuple[str, str]]:
        """model step → endpoint and version that answered."""
        records = self.run.records or ()
        return {
            name: (records[index].endpoint, records[index].version)
            for name, index in self.log.models
            if index < len(records)
        }

    def kind(self, space: Space) -> str:
        """What its rows of a space are: targets, pairs or slates."""
        slates = self.run.slates
        return "targets" if space == "target" or slates is None else slates.kind

    def ids(self, space: Space) -> Sequence[str] | list[list[str]]:
        """The id of each row: of a pair or slate, those of its targets."""
        ids, slates = self.run.ids, self.run.slates
        if space == "target" or slates is None:
            return ids
        flat = [ids[row] for row in slates.indices.tolist()]
        offsets = slates.offsets.tolist()
        return [flat[start:stop] for start, stop in itertools.pairwise(offsets)]


def spaces_of(run: Run) -> tuple[Space, ...]:
    return ("target",) if run.slates is None else ("target", "slate")
