"""What one version of a model has done since the worker started."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Spent:
    """How often, and how long altogether."""

    count: int = 0
    ns: int = 0

    def add(self, seconds: float) -> None:
        self.count += 1
        self.ns += int(seconds * 1e9)


@dataclass(slots=True)
class ModelStats:
    success: Spent = field(default_factory=Spent)
    fail: Spent = field(default_factory=Spent)
    queue: Spent = field(default_factory=Spent)
    """Requests that had to wait, and how long."""
    infer: Spent = field(default_factory=Spent)
    """Runs of the model."""
    rows: int = 0
    """Rows of requests that succeeded."""
    batches: dict[int, Spent] = field(default_factory=dict)
    """Runs by the number of rows."""
    last_ms: int = 0
    """When it last answered, in milliseconds since the epoch."""

    def add_run(self, rows: int, seconds: float) -> None:
        self.infer.add(seconds)
        spent = self.batches.get(rows)
        if spent is None:
            # Callers choose the sizes, so their number is bounded: the rest counts as 0.
            key = rows if len(self.batches) < _MOST_SIZES else 0
            spent = self.batches.setdefault(key, Spent())
        spent.add(seconds)


_MOST_SIZES = 256
