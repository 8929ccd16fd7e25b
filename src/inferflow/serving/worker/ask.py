"""One request to one model, and how several of them are run as one.

Answers are split by the rows each request brought. A request that breaks a batch fails alone: the
others are run again one by one. A model whose answer cannot be split by rows is never batched.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field

import numpy as np

from inferflow.dtypes import Array
from inferflow.engine.deadline import Deadline
from inferflow.errors import DeadlinePassed, InferflowError, ModelFailed
from inferflow.serving.runtime.port import LoadedModel

Answer = Sequence[Array]
Outcome = Answer | InferflowError


@dataclass(slots=True)
class Ask:
    """What a caller wants of a model."""

    feed: dict[str, Array]
    """Every input, in the model's order."""
    outputs: tuple[str, ...]
    deadline: Deadline
    priority: int = 0
    """1 is most urgent; 0 means that the caller did not say."""
    queue_timeout_s: float | None = None
    rows: int = field(init=False)
    """Of the first input; 1 for a model that knows no rows."""

    def __post_init__(self) -> None:
        first = next(iter(self.feed.values()), None)
        self.rows = 1 if first is None or not first.ndim else len(first)

    @property
    def shape(self) -> Hashable:
        """Requests with equal ones can be put together."""
        if len({values.shape[:1] for values in self.feed.values()}) > 1:
            return object()  # its inputs have no common rows, so it goes with nobody
        return self.outputs, tuple(values.shape[1:] for values in self.feed.values())


@dataclass(frozen=True, slots=True)
class Outcomes:
    each: tuple[Outcome, ...]
    """In the order of the requests."""
    is_splittable: bool = True


def run_together(model: LoadedModel, asks: Sequence[Ask]) -> Outcomes:
    """Run one or several requests of equal shape. Never raises what a model may raise."""
    if len(asks) == 1:
        return Outcomes((_run_alone(model, asks[0]),))
    first = asks[0]
    feed = {name: np.concatenate([ask.feed[name] for ask in asks]) for name in first.feed}
    latest = max((ask.deadline for ask in asks), key=lambda deadline: deadline.at)
    try:
        answer = model.run(first.outputs, feed, latest)
    except ModelFailed:
        return Outcomes(tuple(_run_alone(model, ask) for ask in asks))
    except DeadlinePassed as late:
        return Outcomes((late,) * len(asks))
    ends = np.cumsum([ask.rows for ask in asks]).tolist()
    if any(not values.ndim or len(values) != ends[-1] for values in answer):
        return Outcomes(tuple(_run_alone(model, ask) for ask in asks), is_splittable=False)
    starts = [0, *ends[:-1]]
    return Outcomes(
        tuple(
            [values[start:end] for values in answer]
            for start, end in zip(starts, ends, strict=True)
        )
    )


def _run_alone(model: LoadedModel, ask: Ask) -> Outcome:
    try:
        return model.run(ask.outputs, ask.feed, ask.deadline)
    except InferflowError as failed:
        return failed
