"""Which waiting requests run together, and when.

A pure decision over what waits and what time it is: nothing here sleeps, runs or knows a model.
Requests of one shape may share a batch. The most urgent goes first (a lower number is more
urgent), then the one that came first; a batch never overtakes within its shape.
"""

from __future__ import annotations

import enum
import math
from bisect import insort
from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from inferflow.errors import Overloaded

T = TypeVar("T")

DEFAULT_PRIORITY = 2
"""What 0 and nothing stand for, so that 1 is more urgent than a request that does not care."""


class Release(enum.StrEnum):
    """Why a batch was released."""

    FULL = "full"
    """No further request would have fitted."""
    PREFERRED = "preferred"
    """It reached a size the model prefers."""
    DELAY = "delay"
    """Its oldest request had waited as long as it may."""
    DEADLINE = "deadline"
    """One of its requests could not have waited longer."""
    DRAIN = "drain"
    """No more requests will come."""
    ALONE = "alone"
    """One request, with nothing to wait for."""
    SAMPLE = "sample"
    """One request of several, to learn what one costs."""


@dataclass(frozen=True, slots=True)
class BatchRules:
    max_rows: int = 1
    """Most rows of a batch of several requests; 1 never puts requests together."""
    max_delay_s: float = 0.0
    """How long a request may wait for company. 0: only what waits anyway is put together."""
    preferred: tuple[int, ...] = ()
    """Sizes worth releasing at once."""
    queue_limit: int = 1024
    """Most requests waiting; the surplus is refused."""
    queue_timeout_s: float | None = None
    """Longest wait; then a request is refused."""
    retry_after_ms: int = 100
    """When refused requests are told to come back."""


@dataclass(slots=True, order=True)
class Waiting(Generic[T]):
    """One request in the queue. Compared by who goes first."""

    priority: int
    order: int
    work: T = field(compare=False)
    rows: int = field(compare=False)
    shape: Hashable = field(compare=False)
    arrived: float = field(compare=False)
    deadline: float = field(compare=False, default=math.inf)
    gives_up: float = field(compare=False, default=math.inf)
    """When it stops waiting, if it still does."""


@dataclass(frozen=True, slots=True)
class Batch(Generic[T]):
    members: tuple[Waiting[T], ...]
    reason: Release

    @property
    def rows(self) -> int:
        return sum(member.rows for member in self.members)


class BatchQueue(Generic[T]):
    """What waits for one model."""

    def __init__(self, rules: BatchRules) -> None:
        self._rules = rules
        self._waiting: list[Waiting[T]] = []
        self._arrivals = 0

    def __len__(self) -> int:
        return len(self._waiting)

    @property
    def next_rows(self) -> int:
        """Rows of the request that goes first. Something must be waiting."""
        return self._waiting[0].rows

    def use(self, rules: BatchRules) -> None:
        """Other rules from now on."""
        self._rules = rules

    def rows_ahead(self, priority: int) -> int:
        """Rows that would go before a request with this priority."""
        level = priority or DEFAULT_PRIORITY
        return sum(each.rows for each in self._waiting if each.priority <= level)

    def add(
        self,
        work: T,
        *,
        rows: int,
        shape: Hashable,
        now: float,
        priority: int = 0,
        deadline: float = math.inf,
        timeout_s: float | None = None,
    ) -> Waiting[T]:
        """Raises Overloaded when the queue is full."""
        rules = self._rules
        if len(self._waiting) >= rules.queue_limit:
            raise Overloaded(rules.queue_limit, retry_after_ms=rules.retry_after_ms)
        patience = [each for each in (timeout_s, rules.queue_timeout_s) if each is not None]
        self._arrivals += 1
        waiting = Waiting(
            priority or DEFAULT_PRIORITY,
            self._arrivals,
            work,
            rows,
            shape,
            arrived=now,
            deadline=deadline,
            gives_up=min(deadline, now + min(patience, default=math.inf)),
        )
        if not self._waiting or self._waiting[-1].priority <= waiting.priority:
            self._waiting.append(waiting)
        else:
            insort(self._waiting, waiting)
        return waiting

    def discard(self, waiting: Waiting[T]) -> bool:
        """Take one out, because nobody waits for it any more. Whether it was still there."""
        for at, each in enumerate(self._waiting):
            if each is waiting:
                self._remove([at])
                return True
        return False

    def expired(self, now: float) -> list[Waiting[T]]:
        """Take out those that have waited too long."""
        late = [at for at, each in enumerate(self._waiting) if each.gives_up <= now]
        found = [self._waiting[at] for at in late]
        self._remove(late)
        return found

    def take(
        self, now: float, *, run_s: float = 0.0, draining: bool = False, sample: bool = False
    ) -> Batch[T] | None:
        """The batch to run now; None when it is better to wait, or nothing waits.

        `run_s` is how long a run is expected to take; `sample` asks for one request only.
        """
        if not self._waiting:
            return None
        positions, rows, is_full = self._candidates()
        if sample and len(positions) > 1:
            return self._released([0], Release.SAMPLE)
        reason, count = self._decide(positions, rows, is_full, now, run_s, draining)
        if reason is None:
            return None
        return self._released(positions[:count], reason)

    def wakes_at(self, now: float, *, run_s: float = 0.0) -> float:
        """When `take` or `expired` may answer otherwise although nothing new has come."""
        if not self._waiting:
            return math.inf
        members = [self._waiting[at] for at in self._candidates()[0]]
        moments = (
            min(each.gives_up for each in self._waiting),
            min(each.arrived for each in members) + self._rules.max_delay_s,
            min(each.deadline for each in members) - run_s,
        )
        return min((moment for moment in moments if moment > now), default=math.inf)

    def _candidates(self) -> tuple[list[int], list[int], bool]:
        """Positions that may run with the first, the rows up to each, and whether it is full."""
        most, shape = self._rules.max_rows, self._waiting[0].shape
        positions, rows, total = [0], [self._waiting[0].rows], self._waiting[0].rows
        for at in range(1, len(self._waiting)):
            if total >= most:
                break
            each = self._waiting[at]
            if each.shape != shape:
                continue
            if total + each.rows > most:
                return positions, rows, True
            total += each.rows
            positions.append(at)
            rows.append(total)
        return positions, rows, total >= most

    def _decide(
        self,
        positions: list[int],
        rows: list[int],
        is_full: bool,
        now: float,
        run_s: float,
        draining: bool,
    ) -> tuple[Release | None, int]:
        """Why the first so many of the candidates are released, or no reason."""
        rules, count = self._rules, len(positions)
        if rules.max_rows <= 1:
            return Release.ALONE, 1
        if is_full:
            return Release.FULL, count
        preferred = [upto for upto, total in enumerate(rows, 1) if total in rules.preferred]
        if preferred:
            return Release.PREFERRED, preferred[-1]
        if draining:
            return Release.DRAIN, count
        members = [self._waiting[at] for at in positions]
        if min(each.arrived for each in members) + rules.max_delay_s <= now:
            return (Release.ALONE if count == 1 else Release.DELAY), count
        if min(each.deadline for each in members) - run_s <= now:
            return Release.DEADLINE, count
        return None, 0

    def _released(self, positions: list[int], reason: Release) -> Batch[T]:
        batch = Batch(tuple(self._waiting[at] for at in positions), reason)
        self._remove(positions)
        return batch

    def _remove(self, positions: list[int]) -> None:
        for at in reversed(positions):
            del self._waiting[at]
