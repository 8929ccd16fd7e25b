"""Takes finished requests off the request path and hands them to a sink, on a thread of its own.

On the request's path: is this config logged, is this user in today's share, is there room. That is
all; nothing is copied, nothing is encoded. The thread waits until there is something worth getting
up for, since every time it does requests have to share the interpreter with it; then it works on a
few at a time, with pauses in which requests are answered.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from inferflow.engine.observer import Observer
from inferflow.engine.run import Run
from inferflow.inferlog.counting import EXPIRED, FULL, UNWRITABLE, LogCounts
from inferflow.inferlog.queue import LogQueue
from inferflow.inferlog.sampling import daily_share
from inferflow.inferlog.schema import LogSchema
from inferflow.inferlog.taken import PlanLog, Taken
from inferflow.plan.plan import Plan
from inferflow.tracing import kept_span

if TYPE_CHECKING:
    from inferflow.inferlog.message import Format

log = logging.getLogger(__name__)

TICK_S = 0.25
"""How often a sink may do what time asks for."""
LINGER_S = 0.1
"""From the first request there is to the moment the thread begins, unless there are many before."""
_STRETCH_S = 0.0005
"""Work between two pauses."""
_PAUSE_S = 0.0001
"""Long enough for whoever waits for the interpreter to get it; just to offer it is not."""
_DAY_S = 86_400


class Sink(Protocol):
    """Where logged requests go. Called by one thread.

    It counts every message of what it was given: as delivered, or as lost and why.
    """

    def write(self, taken: Taken) -> None: ...

    def tick(self) -> None:
        """Do what is due."""

    def write_as(self, format: Format, *, compressed: bool) -> None:
        """How messages are written from now on, where there is a choice. From any thread."""

    def close(self, until: float) -> None:
        """Deliver what can be delivered until then, on the clock of `time.monotonic`, and count
        the rest as expired."""


class InferenceLog(Observer):
    """Give it to every Scorer as an observer; close it at the end."""

    def __init__(
        self,
        sink: Sink,
        counts: LogCounts,
        *,
        most: int = 10_000,
        most_bytes: int = 64 * 1024 * 1024,
        now: Callable[[], float] = time.time,
        keep: Callable[[LogSchema], None] = lambda _: None,
    ) -> None:
        """`keep` is told once of every schema that something is written in."""
        self.counts = counts
        self._sink = sink
        self._keep = keep
        self._kept: set[tuple[str, str]] = set()
        self._queue = LogQueue(most=most, most_bytes=most_bytes)
        self._now = now
        self._plans: dict[str, PlanLog] = {}
        self._shares: dict[int, Callable[[str], bool] | None] = {}
        self._day = 0
        self._until: float | None = None
        self._thread = threading.Thread(target=self._run, name="inferflow-log", daemon=True)
        self._thread.start()

    def request_answered(self, run: Run) -> None:
        percent = run.plan.log.percent
        if percent <= 0:
            return
        at = self._now()
        share = self._share(percent, at)
        if share is None or not share(run.routing_key):
            return
        plan_log = self._plan_log(run.plan)
        messages = plan_log.messages(run)
        self.counts.produced(messages)
        if self.is_closed or not self._queue.offer(
            Taken(run, plan_log, at, plan_log.bytes_of(run), kept_span())
        ):
            self.counts.lost(run.plan.config_id, FULL, messages)

    def write_as(self, format: Format, *, compressed: bool) -> None:
        """How messages are written from now on, where they are any."""
        self._sink.write_as(format, compressed=compressed)

    def close(self, timeout_s: float = 5.0) -> None:
        """Write what was taken; give up after so long, and count what is left as expired."""
        if self.is_closed:
            return
        self._until = time.monotonic() + timeout_s
        self._queue.wake()
        self._thread.join()

    @property
    def is_closed(self) -> bool:
        """From here on nothing is taken any more."""
        return self._until is not None

    def _share(self, percent: int, at: float) -> Callable[[str], bool] | None:
        day = int(at // _DAY_S)
        if day != self._day:
            self._day, self._shares = day, {}
        if percent not in self._shares:
            self._shares[percent] = daily_share(percent, datetime.fromtimestamp(at, UTC).date())
        return self._shares[percent]

    def _plan_log(self, plan: Plan) -> PlanLog:
        found = self._plans.get(plan.config_id)
        if found is None or found.plan is not plan:
            found = self._plans[plan.config_id] = PlanLog(plan)
        return found

    # --- the thread -------------------------------------------------------------------------

    def _run(self) -> None:
        while self._until is None:
            if self._queue.wait(TICK_S):
                self._queue.linger(LINGER_S)
                self._write_all()
            self._tick()
        self._write_all(self._until)
        while (left := self._queue.take()) is not None:
            self.counts.lost(left.config_id, EXPIRED, left.log.messages(left.run))
        try:
            self._sink.close(self._until)
        except Exception:  # the end of the thread: there is nobody else to tell
            log.exception("inference_log_not_closed")

    def _write_all(self, until: float | None = None) -> None:
        began = time.monotonic()
        while until is None or time.monotonic() < until:
            taken = self._queue.take()
            if taken is None:
                return
            try:
                self._keep_schema(taken)
                self._sink.write(taken)
            except Exception:  # one request that cannot be logged must not cost the others
                log.exception("request_not_logged", extra={"config_id": taken.config_id})
                self.counts.lost(taken.config_id, UNWRITABLE, taken.log.messages(taken.run))
            if time.monotonic() - began >= _STRETCH_S and self._until is None:
                time.sleep(_PAUSE_S)
                began = time.monotonic()

    def _keep_schema(self, taken: Taken) -> None:
        which = (taken.config_id, taken.log.digest)
        if which not in self._kept:
            self._kept.add(which)
            self._keep(taken.log.schema)

    def _tick(self) -> None:
        try:
            self._sink.tick()
        except Exception:  # the thread outlives whatever a sink meets
            log.exception("inference_log_failed")
