"""Keeps requests that asked for it, were slow, or failed; the oldest make room for new ones.

It watches as an observer and decides afterwards, by what the engine counted anyhow, so a request
that is neither slow nor failed costs next to nothing. Each kind has its own places: a thousand
failures do not push out what somebody asked for.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from inferflow.app.recordings.kept import Kept, Whole, Why, size_of
from inferflow.app.recordings.slowest import Slowest
from inferflow.engine.observer import Observer, RequestStats
from inferflow.engine.recording import Recording, StepRecord
from inferflow.errors import NotFound, Overloaded
from inferflow.scores import Scores
from inferflow.telemetry.calls import Call, current_call

MIB = 1024 * 1024

_NOT_KEPT = frozenset({Overloaded.__name__})
"""Refusals that come by the thousand and all say the same; metrics count them."""
_NO_CALL = Call("")


@dataclass(frozen=True, slots=True)
class Room:
    """How much is kept."""

    recordings: int = 64
    recorded_bytes: int = 64 * MIB
    slow: int = 32
    """Per window, of which there are two."""
    failed: int = 64
    slow_s: float = 0.0
    """Requests that took no longer than this are never slow."""
    window_s: float = 300.0


class Keeper(Observer):
    """For any number of threads."""

    def __init__(
        self,
        room: Room | None = None,
        *,
        tag: str = "",
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._room = room = room or Room()
        self._tag = tag or secrets.token_hex(4)
        """Tells the ids of this process from those of others."""
        self._now = now
        self._numbers = count(1)
        self._lock = threading.Lock()
        self._asked: OrderedDict[str, tuple[Kept, int]] = OrderedDict()
        self._asked_bytes = 0
        self._failed: deque[Kept] = deque(maxlen=room.failed)
        self._slow: Slowest[Kept] = Slowest(
            room.slow, at_least_s=room.slow_s, window_s=room.window_s, clock=clock
        )

    # --- watching ---------------------------------------------------------------------------

    def request_ended(self, request: RequestStats) -> None:
        error = request.error or _first_failure(request.steps)
        has_failed = bool(error)
        if not has_failed and not self._slow.is_slow(request.duration_s):
            return
        call = current_call() or _NO_CALL
        if call.is_kept:
            return
        kept = self._kept(
            "failed" if has_failed else "slow",
            call,
            mode=request.mode,
            rows=request.rows,
            duration_us=request.duration_s * 1e6,
            error=error,
            plan=request.plan,
            steps=request.steps,
        )
        with self._lock:
            if not has_failed:
                self._slow.offer(request.duration_s, kept)
                return
            self._failed.append(kept)
        if call is not _NO_CALL:
            call.is_kept = True

    def call_ended(self, method: str, status: int, duration_s: float) -> None:  # noqa: ARG002
        """Calls that failed before, or after, anything was scored."""
        call = current_call()
        if call is None or not call.error or call.is_kept or call.error in _NOT_KEPT:
            return
        kept = self._kept(
            "failed", call, mode="", rows=0, duration_us=duration_s * 1e6, error=call.error
        )
        with self._lock:
            self._failed.append(kept)

    # --- keeping ----------------------------------------------------------------------------

    def keep(self, call: Call, recording: Recording, scores: Scores | None, failure: str) -> str:
        """Keep a request with all its values, as long as there is room for it."""
        size = size_of(recording)
        has_values = size <= self._room.recorded_bytes
        if not has_values:
            recording, scores, size = replace(recording, matrix=None, ids=()), None, 0
        records = tuple(recording.steps.values())
        last_us = max((each.start_us + each.duration_us for each in records), default=0.0)
        kept = self._kept(
            "asked",
            call,
            mode="",
            rows=0 if recording.matrix is None else recording.matrix.rows,
            duration_us=recording.total_us or last_us,
            error=failure,
            plan=recording.plan,
            steps=records,
            whole=Whole(recording, scores, failure, has_values),
        )
        with self._lock:
            self._asked[kept.id] = (kept, size)
            self._asked_bytes += size
            self._make_room()
        return kept.id

    def _make_room(self) -> None:
        room = self._room
        while len(self._asked) > room.recordings or self._asked_bytes > room.recorded_bytes:
            _, (_, size) = self._asked.popitem(last=False)
            self._asked_bytes -= size

    def _kept(self, why: Why, call: Call, **facts: Any) -> Kept:
        return Kept(
            f"{self._tag}-{next(self._numbers)}",
            why,
            int(self._now() * 1000),
            call.request_id,
            call.tracking_id,
            call.method,
            call.config_id,
            call.arm,
            **facts,
        )

    # --- looking ----------------------------------------------------------------------------

    def latest(self, last: int = 0) -> list[Kept]:
        """Newest first; 0: all there are."""
        with self._lock:
            found = [kept for kept, _ in self._asked.values()]
            found += [*self._failed, *self._slow.kept()]
        found.sort(key=lambda kept: int(kept.id.rpartition("-")[2]), reverse=True)
        return found[:last] if last else found

    def find(self, recording: str) -> Kept:
        """Raises NotFound when it was never kept here, or had to make room."""
        for kept in self.latest():
            if kept.id == recording:
                return kept
        raise NotFound("recording", recording)


def _first_failure(steps: Sequence[StepRecord]) -> str:
    """Of a request that was answered although some of its steps failed."""
    for record in steps:
        if record.failure:
            return record.failure
    return ""
