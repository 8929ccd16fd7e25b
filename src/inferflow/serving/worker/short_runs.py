"""Which runs are short enough to be made on the event loop, learned from the runs made.

What one request costs by itself is what counts, and a run of several together does not tell. So
the first runs of a model are of one request each, and later one in many: a model that was taken
for a slow one can show that it is not, however busy it is.
"""

from __future__ import annotations

from inferflow.serving.worker.cost import RunCost
from inferflow.serving.worker.queue import BatchRules

_LEARNED = 3
"""Runs after which a model's cost is believed."""
_SAMPLE_EVERY = 64
"""One in so many runs is of one request, although it might be of several."""
_PROBATION = 200
"""Requests run in threads after a run on the event loop took too long."""


class ShortRuns:
    def __init__(self, limit_s: float, rules: BatchRules) -> None:
        """`limit_s` is the longest that a short run is expected to take."""
        # Where requests are put together, a run of several saves what the others would have
        # taken: from half as long on, that is more than the way through a thread costs.
        self._limit_s = limit_s if rules.max_rows <= 1 else limit_s / 2
        self._is_off = not limit_s or rules.max_delay_s > 0  # asked for to wait for company
        self._cost = RunCost()
        self._runs_since_sample = 0
        self._probation = 0

    def covers(self, rows: int) -> bool:
        """Whether a request with so many rows is to be run on the event loop."""
        return (
            not self._is_off
            and self._cost.runs >= _LEARNED
            and not self._probation
            and self._cost.expected_s(rows) <= self._limit_s
        )

    @property
    def wants_sample(self) -> bool:
        """Whether the next run in a thread should be of one request."""
        if self._is_off:
            return False
        return self._cost.runs < _LEARNED or self._runs_since_sample >= _SAMPLE_EVERY

    def add(self, requests: int, rows: int, seconds: float) -> None:
        """A run, wherever it was made, of so many requests."""
        self._probation = max(0, self._probation - requests)
        self._runs_since_sample += 1
        if requests == 1:
            self._runs_since_sample = 0
            self._cost.add(rows, seconds)

    def distrust(self) -> None:
        """A run on the event loop took too long: for a while there will be none."""
        self._probation = _PROBATION
