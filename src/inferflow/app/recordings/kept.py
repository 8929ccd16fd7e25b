"""One request that is kept, and how much memory it takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from inferflow.engine.recording import Recording, StepRecord
from inferflow.plan.plan import Plan
from inferflow.scores import Scores

Why = Literal["asked", "slow", "failed"]

_PER_OBJECT = 64
"""Bytes of a short text and the reference to it, about."""


@dataclass(frozen=True, slots=True)
class Whole:
    """What only a request that asked to be recorded leaves behind."""

    recording: Recording
    scores: Scores | None
    """None when it failed."""
    failure: str
    has_values: bool = True
    """False when its values were too many to be kept."""


@dataclass(frozen=True, slots=True)
class Kept:
    id: str
    why: Why
    at_ms: int
    """When it ended, in milliseconds since the epoch."""
    request_id: str
    tracking_id: str
    method: str
    config_id: str
    """As asked for; the plan knows which config answered."""
    arm: str
    mode: str
    rows: int
    duration_us: float
    error: str
    """The class of what was raised; empty when it was answered."""
    plan: Plan | None = None
    """None for a call that was refused before anything was scored."""
    steps: Sequence[StepRecord] = ()
    whole: Whole | None = None


def size_of(recording: Recording) -> int:
    """Bytes it keeps from being freed, about."""
    matrix = recording.matrix
    size = _PER_OBJECT * len(recording.ids)
    for block in recording.plan.blocks:
        if matrix is not None and matrix.is_filled(block.index):
            values = matrix.block(block.index)
            size += values.nbytes + (_PER_OBJECT * values.size if values.dtype.hasobject else 0)
    for record in recording.steps.values():
        size += _PER_OBJECT * (record.unique_keys or 0)
    return size
