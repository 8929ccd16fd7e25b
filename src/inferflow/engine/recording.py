"""What happened in one request, step by step. Filled only when asked for.

`explain`, lineage and replay are views of a Recording. It holds references to the matrix,
whose blocks are never changed after they are written, so recording copies nothing.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from inferflow.engine.binding import Binding
from inferflow.engine.matrix import Matrix
from inferflow.plan.plan import Plan


@dataclass(slots=True)
class StepRecord:
    name: str
    kind: str
    start_us: float = 0.0
    """Since the request began."""
    duration_us: float = 0.0
    rows: int = 0
    unique_keys: int | None = None
    cache_hits: int | None = None
    defaults: int = 0
    """Rows for which the store had no real value."""
    endpoint: str = ""
    version: str = ""
    batches: int = 0
    nans: int = 0
    error: str = ""
    skipped: str = ""
    """Why the step had nothing to do."""


@dataclass(slots=True)
class Recording:
    plan: Plan
    binding: Binding | None = None
    matrix: Matrix | None = None
    ids: tuple[str, ...] = ()
    began: float = field(default_factory=time.perf_counter)
    total_us: float = 0.0
    steps: dict[str, StepRecord] = field(default_factory=dict)
    arms: dict[str, str] = field(default_factory=dict)
    """model step → endpoint and version that answered."""
