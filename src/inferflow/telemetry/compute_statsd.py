"""Sends what a compute service reports over StatsD, under the names of the original.

Counts are added up here and sent once per interval; timings are sent one by one, for a share of
the calls. So counts are exact, whatever that share is.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from inferflow.telemetry.compute_call import OTHER, Call, error_types
from inferflow.telemetry.statsd import Line, tag

if TYPE_CHECKING:
    from datadog.dogstatsd.base import DogStatsd

_MOST_TIMINGS = 20_000
"""Timings kept between two sendings; more are left out."""


class ComputeStatsd:
    def __init__(
        self,
        client: DogStatsd,
        *,
        sampling_rate: float = 1.0,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._client = client
        self._rate = sampling_rate
        self._chance = chance
        self._lock = threading.Lock()
        self._counts: dict[Line, int] = {}
        self._timings: list[tuple[Line, float]] = []

    def call_ended(self, call: Call) -> None:
        tags = (tag("compute_id", call.compute_id or OTHER), tag("caller", call.caller))
        with self._lock:
            self._count("total", tags)
            if call.outcome != "ok":
                self._count("error", tags)
            for kind in error_types(call):
                self._count("invalid_operation", (*tags, tag("error_type", kind)))
            is_timed = self._rate >= 1 or self._chance() < self._rate
            if is_timed and len(self._timings) < _MOST_TIMINGS:
                self._timings.append(((_name("latency"), tags), call.duration_s * 1e3))

    def _count(self, what: str, tags: tuple[str, ...]) -> None:
        line = (_name(what), tags)
        self._counts[line] = self._counts.get(line, 0) + 1

    def flush(self) -> None:
        """Send what came together since the last time."""
        with self._lock:
            counts, self._counts = self._counts, {}
            timings, self._timings = self._timings, []
        for (name, tags), count in counts.items():
            self._client.increment(name, count, tags=list(tags))
        for (name, tags), milliseconds in timings:
            # Sampled above; the public method would roll its own dice again.
            self._client._report(
                name, "ms", round(milliseconds, 4), list(tags), self._rate, sampling=False
            )
        self._client.flush()

    def close(self) -> None:
        self.flush()
        self._client.close_socket()


def _name(what: str) -> str:
    return f"numerix.computation.request.{what}"
