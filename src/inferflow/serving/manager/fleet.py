"""The fleet as a manager knows it, and how that knowledge changes. No I/O, and no clock of its own.

A worker reports once per period. Its state is not kept but follows from when it was last heard:
silent for a while it is suspect, for longer offline, and in the end forgotten. A fleet is a value:
every change gives a new one, so whoever chooses workers looks at one moment.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

ModelKey = tuple[str, str]
"""Model and version."""


class WorkerState(enum.StrEnum):
    ONLINE = "online"
    SUSPECT = "suspect"
    """Missed a few reports. It may well be serving; the way to it may be cut."""
    OFFLINE = "offline"
    DRAINING = "draining"
    """Leaving: it finishes what it has and is sent nothing new."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a worker may be silent."""

    period_s: float = 1.0
    """Between two reports."""
    suspect_s: float = 3.0
    offline_s: float = 10.0
    forget_s: float = 3600.0


@dataclass(frozen=True, slots=True)
class Load:
    """What a worker last said of itself, as far as choosing goes."""

    in_flight: int = 0
    queued: int = 0
    loaded: frozenset[ModelKey] = frozenset()
    """Ready to answer at once."""
    failed: frozenset[ModelKey] = frozenset()
    """Could not be loaded there."""


@dataclass(frozen=True, slots=True)
class WorkerView:
    """One worker, as of one moment."""

    worker_id: str
    address: str
    last_seen_s: float
    slots: int = 1
    """Requests it works on at once."""
    gpus: int = 0
    is_draining: bool = False
    load: Load = Load()
    sequence: int = 0
    """Of its last report. They count up from its registration."""

    @property
    def pressure(self) -> float:
        """Work per slot; above 1 there is more than it can do at once."""
        return (self.load.in_flight + self.load.queued) / max(self.slots, 1)

    def state(self, now_s: float, patience: Patience) -> WorkerState:
        silent_s = now_s - self.last_seen_s
        if silent_s >= patience.offline_s:
            return WorkerState.OFFLINE
        if self.is_draining:
            return WorkerState.DRAINING
        return WorkerState.SUSPECT if silent_s >= patience.suspect_s else WorkerState.ONLINE


@dataclass(frozen=True, slots=True)
class Transition:
    """A worker that is in another state than before; None before it came and after it went."""

    worker_id: str
    before: WorkerState | None
    after: WorkerState | None


@dataclass(frozen=True, slots=True)
class Fleet:
    """All workers a manager knows, by id."""

    workers: Mapping[str, WorkerView] = field(default_factory=dict)

    def joined(self, worker: WorkerView) -> Fleet:
        """With a worker that registered. One that was known begins anew."""
        return Fleet({**self.workers, worker.worker_id: worker})

    def reported(
        self, worker_id: str, sequence: int, load: Load, *, now_s: float, patience: Patience
    ) -> Fleet | None:
        """With a worker's report; None when there is no such worker and it must register.

        A report that was overtaken by a newer one only shows that the worker is alive. After a
        silence every report counts, for a worker may have begun to count anew.
        """
        worker = self.workers.get(worker_id)
        if worker is None:
            return None
        seen = replace(worker, last_seen_s=max(now_s, worker.last_seen_s))
        was_silent = now_s - worker.last_seen_s >= patience.suspect_s
        if sequence > worker.sequence or was_silent:
            seen = replace(seen, load=load, sequence=sequence)
        return Fleet({**self.workers, worker_id: seen})

    def seen(self, times_s: Mapping[str, float]) -> Fleet:
        """With what other managers heard. Times never go back; unknown workers are left out."""
        changed = {
            worker_id: replace(self.workers[worker_id], last_seen_s=at_s)
            for worker_id, at_s in times_s.items()
            if worker_id in self.workers and at_s > self.workers[worker_id].last_seen_s
        }
        return Fleet({**self.workers, **changed}) if changed else self

    def draining(self, worker_id: str) -> Fleet:
        """With a worker that is leaving; unchanged when it is not known."""
        worker = self.workers.get(worker_id)
        if worker is None:
            return self
        return Fleet({**self.workers, worker_id: replace(worker, is_draining=True)})

    def without(self, worker_ids: Iterable[str]) -> Fleet:
        gone = set(worker_ids)
        return Fleet({each: it for each, it in self.workers.items() if each not in gone})

    def forgotten(self, now_s: float, patience: Patience) -> tuple[str, ...]:
        """Workers that have been silent for so long that they are not coming back."""
        return tuple(
            worker_id
            for worker_id, worker in self.workers.items()
            if now_s - worker.last_seen_s >= patience.forget_s
        )

    def states(self, now_s: float, patience: Patience) -> dict[str, WorkerState]:
        return {each: it.state(now_s, patience) for each, it in self.workers.items()}


def transitions(
    before: Mapping[str, WorkerState], after: Mapping[str, WorkerState]
) -> tuple[Transition, ...]:
    """What changed between two looks at the states of a fleet, by id."""
    return tuple(
        Transition(worker_id, before.get(worker_id), after.get(worker_id))
        for worker_id in sorted({*before, *after})
        if before.get(worker_id) != after.get(worker_id)
    )
