"""The way to one loaded model: a queue in front of it, and its runs.

A model whose runs are known to be short runs right on the event loop: handing such a run to a
thread would cost more than the run. It is held to that: a run that takes longer than it may is
stopped, made again in a thread, and the model has to earn the short way anew. All other runs go
to threads, and what arrives while the model is busy is put together as the rules allow.

A lane keeps its model for as long as somebody waits, also after the model was unloaded.
"""

from __future__ import annotations

import asyncio
import logging
import math
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass, replace

from inferflow.engine.deadline import Clock
from inferflow.errors import DeadlinePassed, EngineFault, InferflowError, Overloaded
from inferflow.serving.runtime.port import LoadedModel
from inferflow.serving.worker.ask import Answer, Ask, Outcomes, run_together
from inferflow.serving.worker.cost import RunCost
from inferflow.serving.worker.observer import WorkerObserver
from inferflow.serving.worker.queue import Batch, BatchQueue, BatchRules, Release, Waiting
from inferflow.serving.worker.short_runs import ShortRuns
from inferflow.serving.worker.slots import RunSlots
from inferflow.serving.worker.stats import ModelStats

log = logging.getLogger(__name__)

_SHORT_LIMIT_MS = 20.0
"""Longest that a run may hold up the event loop."""
_LEARNED = 3
"""Runs after which a model's cost is believed."""


@dataclass(frozen=True, slots=True)
class _Pending:
    ask: Ask
    answer: asyncio.Future[Answer | None]
    """None tells the caller to run it on the event loop."""


class Lane:
    """Lives on one event loop."""

    def __init__(
        self,
        model: LoadedModel,
        rules: BatchRules,
        *,
        threads: Executor,
        slots: RunSlots,
        short_run_s: float,
        stats: ModelStats,
        observer: WorkerObserver,
        clock: Clock = time.monotonic,
        wall_clock: Callable[[], float] = time.time,
    ) -> None:
        """`clock` is the one that deadlines go by."""
        self.model = model
        self.rules = rules
        self.stats = stats
        self.last_used = clock()
        self.in_flight = 0
        self._queue: BatchQueue[_Pending] = BatchQueue(rules)
        self._cost = RunCost()
        # Where it tells the whole cost, processor time is better than time on the wall, which
        # grows when others compete for the processor or for the interpreter: a short run would
        # be taken for a long one just when it matters.
        self._cost_clock = time.thread_time if model.computes_here else time.perf_counter
        self._threads = threads
        self._slots = slots
        self._short = ShortRuns(short_run_s, rules)
        self._observer = observer
        self._clock = clock
        self._wall_clock = wall_clock
        self._loop = asyncio.get_running_loop()
        self._draining = False
        self._timer: asyncio.TimerHandle | None = None

    @property
    def label(self) -> str:
        return f"{self.model.signature.model}@{self.model.signature.version}"

    @property
    def waiting(self) -> int:
        return len(self._queue)

    async def infer(self, ask: Ask) -> Answer:
        """Raises ModelFailed, DeadlinePassed or Overloaded."""
        began = self._clock()
        self.in_flight += 1
        try:
            answer = await self._answer(ask, began)
        except BaseException:
            self.stats.fail.add(self._clock() - began)
            raise
        finally:
            self.in_flight -= 1
            self.last_used = self._clock()
        self.stats.success.add(self.last_used - began)
        self.stats.rows += ask.rows
        self.stats.last_ms = int(self._wall_clock() * 1000)
        return answer

    def retire(self) -> None:
        """No more requests will come: nobody waits for company any longer."""
        self._draining = True
        self._dispatch()

    async def _answer(self, ask: Ask, now: float) -> Answer:
        may_run_here = not len(self._queue) and self._short.covers(ask.rows)
        while True:
            answer = self._run_here(ask) if may_run_here else await self._queued(ask, now)
            if answer is not None:
                return answer
            may_run_here = not may_run_here

    async def _queued(self, ask: Ask, now: float) -> Answer | None:
        """The answer, or None when its turn has come to be run by its caller."""
        self._refuse_in_vain(ask, now)
        pending = _Pending(ask, self._loop.create_future())
        waiting = self._queue.add(
            pending,
            rows=ask.rows,
            shape=ask.shape,
            now=now,
            priority=ask.priority,
            deadline=ask.deadline.at,
            timeout_s=ask.queue_timeout_s,
        )
        self._dispatch()
        try:
            return await pending.answer
        except asyncio.CancelledError:
            self._queue.discard(waiting)
            raise

    # --- runs on the event loop -------------------------------------------------------------

    def _run_here(self, ask: Ask) -> Answer | None:
        """The answer, or None when the run took too long and must be made in a thread."""
        began, spent = time.perf_counter(), self._cost_clock()
        try:
            return self.model.run(ask.outputs, ask.feed, ask.deadline.within(_SHORT_LIMIT_MS))
        except DeadlinePassed:
            self._short.distrust()
            if ask.deadline.is_past():
                raise
            return None
        finally:
            self._learn(1, ask.rows, self._cost_clock() - spent)
            self._count_run(1, ask.rows, Release.ALONE, time.perf_counter() - began)

    def _learn(self, requests: int, rows: int, seconds: float) -> None:
        self._cost.add(rows, seconds)
        self._short.add(requests, rows, seconds)

    # --- runs in threads --------------------------------------------------------------------

    def _refuse_in_vain(self, ask: Ask, now: float) -> None:
        """A request that cannot be answered in time is refused at once, not after waiting."""
        ahead = self._queue.rows_ahead(ask.priority)
        if not ahead or self._cost.runs < _LEARNED:
            return
        wait = self._cost.expected_wait_s(ahead, self.rules.max_rows, self._slots.total)
        if now + wait + self._cost.expected_s(ask.rows) > ask.deadline.at:
            raise Overloaded(None, retry_after_ms=math.ceil(wait * 1000))

    def _dispatch(self) -> None:
        now = self._clock()
        for late in self._queue.expired(now):
            self._left_queue(late, now)
            self._give_up(late)
        self._hand_back_short(now)
        while len(self._queue) and self._slots.take(self._dispatch):
            run_s = self._cost.expected_s(self.rules.max_rows)
            batch = self._queue.take(
                now, run_s=run_s, draining=self._draining, sample=self._short.wants_sample
            )
            if batch is None:
                self._slots.give_back()
                break
            self._start(batch, now)
        self._set_timer(now)

    def _hand_back_short(self, now: float) -> None:
        """Runs have turned out to be short: what still waits is run by its callers, in order.

        Without this, a model that is never idle would never get from threads to the short way.
        """
        while len(self._queue) and self._short.covers(self._queue.next_rows):
            batch = self._queue.take(now, sample=True)
            assert batch is not None
            for member in batch.members:
                self._left_queue(member, now)
                if not member.work.answer.done():
                    member.work.answer.set_result(None)

    def _start(self, batch: Batch[_Pending], now: float) -> None:
        for member in batch.members:
            self._left_queue(member, now)
        self._threads.submit(self._run_there, batch)

    def _run_there(self, batch: Batch[_Pending]) -> None:
        """On a thread."""
        began, spent = time.perf_counter(), self._cost_clock()
        try:
            outcomes = run_together(self.model, [each.work.ask for each in batch.members])
        except Exception as unexpected:  # whoever waits must be told, whatever it is
            log.exception("run_failed", extra={"model": self.label})
            broken = EngineFault(f"{type(unexpected).__name__} while running {self.label!r}")
            outcomes = Outcomes((broken,) * len(batch.members))
        spent, took = self._cost_clock() - spent, time.perf_counter() - began
        self._loop.call_soon_threadsafe(self._finish, batch, outcomes, spent, took)

    def _finish(
        self, batch: Batch[_Pending], outcomes: Outcomes, spent: float, took: float
    ) -> None:
        self._learn(len(batch.members), batch.rows, spent)
        self._count_run(len(batch.members), batch.rows, batch.reason, took)
        for member, outcome in zip(batch.members, outcomes.each, strict=True):
            answer = member.work.answer
            if answer.done():  # the caller has left
                continue
            if isinstance(outcome, InferflowError):
                answer.set_exception(outcome)
            else:
                answer.set_result(outcome)
        if not outcomes.is_splittable:
            self._stop_batching()
        self._slots.give_back()
        self._dispatch()

    def _stop_batching(self) -> None:
        log.warning("model_not_batchable", extra={"model": self.label})
        self.rules = replace(self.rules, max_rows=1)
        self._queue.use(self.rules)

    # --- counting and waking ----------------------------------------------------------------

    def _count_run(self, requests: int, rows: int, reason: Release, took: float) -> None:
        self.stats.add_run(rows, took)
        signature = self.model.signature
        self._observer.batch_ran(
            signature.model, signature.version, requests, rows, reason.value, took
        )

    def _left_queue(self, member: Waiting[_Pending], now: float) -> None:
        waited = now - member.arrived
        self.stats.queue.add(waited)
        signature = self.model.signature
        self._observer.queue_left(signature.model, signature.version, waited)

    def _give_up(self, member: Waiting[_Pending]) -> None:
        if not member.work.answer.done():
            waited_ms = (member.gives_up - member.arrived) * 1000
            doing = f"waiting in the queue of model {self.label!r}"
            member.work.answer.set_exception(DeadlinePassed(doing, waited_ms))

    def _set_timer(self, now: float) -> None:
        """Look again when something can change by time alone."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if len(self._queue):
            run_s = self._cost.expected_s(self.rules.max_rows)
            wakes_at = self._queue.wakes_at(now, run_s=run_s)
            if wakes_at != math.inf:
                self._timer = self._loop.call_later(wakes_at - now, self._dispatch)
