"""What happened in one request, step by step. Filled only when asked for.

`explain`, lineage and replay are views of a Recording. It holds references to the matrix,
whose blocks are never changed after they are written, so recording copies nothing. An observer
gets the records of the steps alone.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from inferflow.engine.binding import Binding
from inferflow.engine.matrix import Array, Matrix
from inferflow.engine.ports import KeyColumns
from inferflow.plan.plan import Plan


@dataclass(slots=True)
class ReadRecord:
    """The keys a feature step asked for, and the age of what it got."""

    keys: KeyColumns
    """Distinct keys, one sequence per part."""
    key_of_row: Array | None
    """row → key; None when row i is key i, or one key stands for all rows."""
    unusable: Array | None
    """Rows that had no key to ask with."""
    written_ms: tuple[Array | None, ...] = ()
    """Per group, when the row of each key was written; empty when nothing was read."""

    def position(self, row: int) -> int | None:
        """Which of the keys a row asked with; None when it had none."""
        if self.unusable is not None and self.unusable[row]:
            return None
        if self.key_of_row is not None:
            return int(self.key_of_row[row])
        return row if len(self.keys[0]) > 1 else 0


class StepRecord:
    """One step, noted. Made for every step of every request that is watched, so facts that
    were never noted are the class's own and cost nothing to make."""

    began: float = 0.0
    """By `time.perf_counter`."""
    start_us: float = 0.0
    """Since the request began, when recorded."""
    duration_us: float = 0.0
    """0 for a step that never ran."""
    rows: int = 0
    unique_keys: int | None = None
    cache_hits: int | None = None
    calls: int = 0
    """Times the store, the model or the expression was asked, and how long it took."""
    calls_us: float = 0.0
    failed_calls: int = 0
    read: ReadRecord | None = None
    """What a feature step asked for, when recorded. Where its values came from is in the matrix."""
    endpoint: str = ""
    version: str = ""
    batches: int = 0
    nans: int = 0
    error: str = ""
    failure: str = ""
    """The class of what failed: the step as a whole, or only some of its calls."""
    skipped: str = ""
    """Why the step had nothing to do."""

    def __init__(self, name: str, kind: str) -> None:
        self.name = name
        self.kind = kind


@dataclass(slots=True)
class Recording:
    plan: Plan
    binding: Binding | None = None
    matrix: Matrix | None = None
    ids: tuple[str, ...] = ()
    began: float = field(default_factory=time.perf_counter)
    at_ms: float = field(default_factory=lambda: time.time() * 1000)
    """When that was, for ages: milliseconds since the epoch."""
    total_us: float = 0.0
    steps: dict[str, StepRecord] = field(default_factory=dict)
    arm: str = ""
    """The config that answered, when the id asked for stands for several."""
    arms: dict[str, str] = field(default_factory=dict)
    """model step → endpoint and version that answered."""
