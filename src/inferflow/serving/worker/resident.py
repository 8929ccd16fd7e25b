"""One version of one model as a worker knows it: in memory or not, and why not."""

from __future__ import annotations

import asyncio
import enum
from dataclasses import dataclass, field

from inferflow.errors import ModelUnavailable
from inferflow.plan.catalog import ModelSignature
from inferflow.serving.worker.backoff import retry_delay_s
from inferflow.serving.worker.lane import Lane
from inferflow.serving.worker.stats import ModelStats


class State(enum.StrEnum):
    """In the words of the Open Inference Protocol's repository."""

    READY = "READY"
    LOADING = "LOADING"
    UNAVAILABLE = "UNAVAILABLE"


@dataclass(slots=True)
class Resident:
    model: str
    version: str
    stats: ModelStats = field(default_factory=ModelStats)
    lane: Lane | None = None
    loading: asyncio.Task[Lane] | None = None
    """The one load under way, however many wait for it."""
    signature: ModelSignature | None = None
    """Kept when the model is unloaded, so that describing it does not load it again."""
    digest: str = ""
    memory_bytes: int = 0
    """What it takes, or what is kept free for it while it loads."""
    is_switched_off: bool = False
    """Unloaded by hand: stays so until somebody loads it."""
    failures: int = 0
    failure: str = ""
    retry_at: float = 0.0

    @property
    def label(self) -> str:
        return f"{self.model}@{self.version}"

    @property
    def state(self) -> State:
        if self.lane is not None:
            return State.READY
        if self.loading is not None:
            return State.LOADING
        return State.UNAVAILABLE if self.is_switched_off or self.failure else State.READY

    @property
    def reason(self) -> str:
        if self.lane is not None or self.loading is not None:
            return self.failure
        if self.is_switched_off:
            return "unloaded"
        return self.failure or "not in memory; the first request loads it"

    @property
    def is_busy(self) -> bool:
        return self.loading is not None or (self.lane is not None and self.lane.in_flight > 0)

    def refuse_unless_loadable(self, now: float) -> None:
        """Raises ModelUnavailable for a model that must be left alone for now."""
        if self.is_switched_off:
            raise ModelUnavailable(self.label, "it was unloaded; load it first")
        if self.failure and now < self.retry_at:
            left_ms = max(1, int((self.retry_at - now) * 1000))
            raise ModelUnavailable(self.label, self.failure, retry_after_ms=left_ms)

    def note_failure(self, why: str, now: float) -> None:
        self.failures += 1
        self.failure = why
        self.retry_at = now + retry_delay_s(self.failures)

    def note_success(self) -> None:
        self.failures, self.failure, self.is_switched_off = 0, "", False
