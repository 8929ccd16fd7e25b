"""Keeps a worker in its fleet: joins, reports once per period, takes orders, leaves.

It runs in a thread of its own, so that a worker whose event loop has more than enough to do is not
taken for a dead one. When no manager answers it goes on trying, with pauses that grow, and the
worker serves on meanwhile. A manager that does not know the worker has it join again.
"""

from __future__ import annotations

import logging
import random
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol

from inferflow.client.manager.calls import ManagerCalls, declared
from inferflow.client.manager.clock_watch import ClockWatch
from inferflow.client.manager.orders import Orders, orders_from
from inferflow.client.pausing import pause
from inferflow.errors import InferflowError, InvalidInput, PermissionDenied, Unauthenticated

log = logging.getLogger(__name__)

Message = Any

_TIMEOUT_S = 2.0
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.2, 2.0
_CATCH_UP_S = 2.5
"""Longer than the longest pause, after which a manager that came back is found."""
REFUSALS = (Unauthenticated, PermissionDenied, InvalidInput)
"""What will be said again next time, unless somebody changes something."""


class Member(Protocol):
    """A worker as the link sees it. Called from the link's thread."""

    def joining(self) -> Message:
        """A RegisterRequest."""
        ...

    def joined(self, worker_id: str) -> None:
        """The name under which it is known from now on. Orders follow."""
        ...

    def report(self) -> Message:
        """A WorkerReport, about now."""
        ...

    def reported(self, report: Message) -> None:
        """A manager has this report."""
        ...

    def obey(self, orders: Orders) -> None: ...

    def refused(self, why: InferflowError) -> None:
        """It was never let in, and will not be."""
        ...


class FleetLink:
    def __init__(
        self,
        calls: ManagerCalls,
        member: Member,
        *,
        clock: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
        chance: Callable[[], float] = random.random,
    ) -> None:
        """`wall` gives seconds since the epoch."""
        self._calls = calls
        self._member = member
        self._clock = clock
        self._clock_watch = ClockWatch(wall)
        self._chance = chance
        self._ended = threading.Event()
        self._wake = threading.Event()
        self._beaten = threading.Condition()
        self._begun = self._answered = 0
        self._thread = threading.Thread(target=self._run, name="inferflow-fleet", daemon=True)
        self._worker_id = ""
        self._period_s = 1.0
        self._sequence = 0
        self._etag = ""
        self._must_join = True
        self._failures = 0

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        """Stop reporting. Waits for a report under way."""
        self._ended.set()
        self._wake.set()
        if self._thread.is_alive():
            self._thread.join()

    def catch_up(self, within_s: float = _CATCH_UP_S) -> bool:
        """Report at once, and return when that was answered: False when no manager did in time.
        To be called from any other thread.

        A report already under way does not count: its answer may be older than this call."""
        with self._beaten:
            next_one = self._begun + 1
            self._wake.set()
            return self._beaten.wait_for(lambda: self._answered >= next_one, within_s)

    def leave(self) -> None:
        """Tell the manager that no new caller is to be sent here; when it cannot be told, it will
        notice. To be called from any other thread."""
        if not self._worker_id:
            return
        request = declared("DrainRequest")(worker_id=self._worker_id)
        try:
            self._calls.ask(
                "Fleet/Drain", request, "DrainResponse", timeout_s=_TIMEOUT_S, repeatable=True
            )
        except InferflowError as failed:
            log.warning("leaving_not_told", extra={"error": str(failed)})

    def step(self) -> float:
        """Join or report; the seconds to wait until the next time."""
        began = self._clock()
        try:
            if self._must_join:
                self._join()
            else:
                self._beat()
        except InferflowError as failed:
            return self._failed(failed)
        if self._failures:
            log.info("manager_reached", extra={"after_failures": self._failures})
        self._failures = 0
        return max(0.0, self._period_s - (self._clock() - began))

    def _run(self) -> None:
        while not self._ended.is_set():
            with self._beaten:
                self._begun += 1
            was_heard = False
            try:
                wait_s = self.step()
                was_heard = not self._failures
            except Exception:  # the boundary of the thread: without it the worker would fall silent
                log.exception("fleet_link_broke")
                wait_s = _LONGEST_PAUSE_S
            with self._beaten:
                if was_heard:
                    self._answered = self._begun
                self._beaten.notify_all()
            self._wake.wait(wait_s)
            self._wake.clear()

    def _join(self) -> None:
        answer = self._calls.ask(
            "Fleet/Register",
            self._member.joining(),
            "RegisterResponse",
            timeout_s=_TIMEOUT_S,
            repeatable=True,
        )
        self._worker_id = answer.worker_id
        self._period_s = answer.heartbeat_period_ms / 1000
        self._must_join = False
        self._sequence = 0
        self._member.joined(answer.worker_id)
        self._obey(answer.orders)

    def _beat(self) -> None:
        self._sequence += 1
        report = self._member.report()
        request = declared("HeartbeatRequest")(
            worker_id=self._worker_id,
            sequence=self._sequence,
            report=report,
            orders_etag=self._etag,
        )
        answer = self._calls.ask(
            "Fleet/Heartbeat", request, "HeartbeatResponse", timeout_s=_TIMEOUT_S, repeatable=True
        )
        self._clock_watch.compare(answer.now_ms)
        if answer.register_again:
            self._must_join = True
            self._join()
            return
        self._member.reported(report)
        if answer.HasField("orders"):
            self._obey(answer.orders)

    def _obey(self, orders: Message) -> None:
        self._member.obey(orders_from(orders))
        self._etag = orders.etag

    def _failed(self, failed: InferflowError) -> float:
        self._failures += 1
        if not self._worker_id and isinstance(failed, REFUSALS):
            self._member.refused(failed)
        if self._failures == 1 or isinstance(failed, REFUSALS):
            log.warning("manager_not_reached", extra={"error": str(failed)})
        return pause(
            self._failures,
            self._chance(),
            first_s=_FIRST_PAUSE_S,
            longest_s=_LONGEST_PAUSE_S,
        )
