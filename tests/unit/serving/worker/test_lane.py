"""The way to one loaded model: queueing, batching, runs here and in threads."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inferflow.engine.deadline import Deadline
from inferflow.errors import DeadlinePassed, ModelFailed, Overloaded
from inferflow.serving.worker.ask import Answer, Ask
from inferflow.serving.worker.lane import Lane
from inferflow.serving.worker.observer import SilentObserver
from inferflow.serving.worker.queue import BatchRules
from inferflow.serving.worker.slots import RunSlots
from inferflow.serving.worker.stats import ModelStats

from ....robustness.scenario import StartScenario
from .fakes import FakeLoaded, double, rows, run, signature


class Noted(SilentObserver):
    def __init__(self) -> None:
        self.batches: list[tuple[int, int, str]] = []

    def batch_ran(
        self, model: str, version: str, requests: int, rows: int, reason: str, run_s: float
    ) -> None:
        self.batches.append((requests, rows, reason))


@asynccontextmanager
async def lane_of(
    model: FakeLoaded, *, short_run_s: float = 0.0, slots: int = 1, **rules: Any
) -> AsyncIterator[tuple[Lane, Noted]]:
    noted = Noted()
    threads = ThreadPoolExecutor(slots)
    try:
        yield (
            Lane(
                model,
                BatchRules(**rules),
                threads=threads,
                slots=RunSlots(slots),
                short_run_s=short_run_s,
                stats=ModelStats(),
                observer=noted,
            ),
            noted,
        )
    finally:
        if model.gate is not None:
            model.gate.set()
        threads.shutdown()


def ask(*values: float, ms: float | None = None, **facts: Any) -> Ask:
    return Ask({"x": rows(*values)}, ("y",), Deadline(ms), **facts)


def first(answer: Answer) -> list[float]:
    return [float(each) for each in answer[0][:, 0]]


async def started(model: FakeLoaded) -> None:
    """Until a run has begun."""
    await asyncio.to_thread(model.started.acquire)


async def busy(lane: Lane, model: FakeLoaded) -> asyncio.Task[Answer]:
    """One run that holds the only slot until the model's gate is opened."""
    task = asyncio.ensure_future(lane.infer(ask(0)))
    await started(model)
    return task


def test_what_arrives_while_the_model_runs_is_put_together() -> None:
    async def main() -> None:
        model = FakeLoaded(signature(), gate=threading.Event())
        async with lane_of(model, max_rows=8) as (lane, noted):
            holding = await busy(lane, model)
            waiting = [asyncio.ensure_future(lane.infer(ask(n, n))) for n in (1, 2, 3)]
            await asyncio.sleep(0)
            assert (lane.waiting, lane.in_flight) == (3, 4)
            assert model.gate is not None
            model.gate.set()
            assert [first(await each) for each in (holding, *waiting)] == [
                [0],
                [2, 2],
                [4, 4],
                [6, 6],
            ]
            assert noted.batches == [(1, 1, "alone"), (3, 6, "delay")]
            assert (lane.waiting, lane.in_flight) == (0, 0)
            assert lane.stats.success.count == 4
            assert lane.stats.rows == 7

    run(main())


def test_the_most_urgent_request_goes_first() -> None:
    async def main() -> None:
        order: list[float] = []

        def noting(values: Any) -> Any:
            order.append(float(values[0, 0]))
            return double(values)

        model = FakeLoaded(signature(), function=noting, gate=threading.Event())
        async with lane_of(model) as (lane, _):
            holding = await busy(lane, model)
            waiting = [
                asyncio.ensure_future(lane.infer(ask(n, priority=p)))
                for n, p in ((1, 9), (2, 0), (3, 1))
            ]
            await asyncio.sleep(0)
            assert model.gate is not None
            model.gate.set()
            await asyncio.gather(holding, *waiting)
        assert order == [0, 3, 2, 1]

    run(main())


def test_one_bad_request_of_a_batch_fails_alone() -> None:
    async def main() -> None:
        model = FakeLoaded(signature(), gate=threading.Event())
        async with lane_of(model, max_rows=8) as (lane, _):
            holding = await busy(lane, model)
            waiting = [asyncio.ensure_future(lane.infer(ask(n))) for n in (1, -2, 3)]
            await asyncio.sleep(0)
            assert model.gate is not None
            model.gate.set()
            await holding
            one, two, three = await asyncio.gather(*waiting, return_exceptions=True)
            assert isinstance(two, ModelFailed)
            assert [first(each) for each in (one, three)] == [[2], [6]]  # type: ignore[arg-type]
            assert (lane.stats.success.count, lane.stats.fail.count) == (3, 1)

    run(main())


def test_a_queue_that_is_full_refuses() -> None:
    async def main() -> None:
        model = FakeLoaded(signature(), gate=threading.Event())
        async with lane_of(model, queue_limit=1) as (lane, _):
            holding = await busy(lane, model)
            waiting = asyncio.ensure_future(lane.infer(ask(1)))
            await asyncio.sleep(0)
            with pytest.raises(Overloaded):
                await lane.infer(ask(2))
            assert model.gate is not None
            model.gate.set()
            await asyncio.gather(holding, waiting)

    run(main())


def test_a_request_that_waited_too_long_is_told_so_and_never_run(
    scenario: StartScenario,
) -> None:
    tried = scenario("I2", "a request waits for a worker longer than it may")

    async def main() -> None:
        model = FakeLoaded(signature(), gate=threading.Event())
        async with lane_of(model) as (lane, _):
            holding = await busy(lane, model)
            with pytest.raises(DeadlinePassed, match="waiting in the queue"):
                await lane.infer(ask(1, queue_timeout_s=0.01))
            assert model.gate is not None
            model.gate.set()
            await holding
            tried.at_most("runs for it", len(model.runs) - 1, 0)

    run(main())


def test_a_request_that_cannot_be_answered_in_time_is_refused_at_once(
    scenario: StartScenario,
) -> None:
    tried = scenario("I2", "a queue that lasts longer than a request's 500 ms")

    async def main() -> None:
        model = FakeLoaded(signature())
        async with lane_of(model) as (lane, _):
            for _ in range(3):
                await lane.infer(ask(1))
            lane._cost.add(1, 10.0)  # as if the last run had taken long
            model.gate = threading.Event()
            for _ in range(3):
                model.started.acquire()
            holding = await busy(lane, model)
            waiting = asyncio.ensure_future(lane.infer(ask(1)))
            await asyncio.sleep(0)
            with tried.timed("refused", 0.05), pytest.raises(Overloaded) as refused:
                await lane.infer(ask(1, ms=500))
            tried.at_least("told to come back after", refused.value.retry_after_ms, 500, " ms")
            model.gate.set()
            await asyncio.gather(holding, waiting)

    run(main())


def test_a_caller_who_leaves_takes_the_request_along() -> None:
    async def main() -> None:
        model = FakeLoaded(signature(), gate=threading.Event())
        async with lane_of(model) as (lane, _):
            holding = await busy(lane, model)
            waiting = asyncio.ensure_future(lane.infer(ask(1)))
            await asyncio.sleep(0)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert lane.waiting == 0
            assert model.gate is not None
            model.gate.set()
            await holding
            assert model.runs == [1]

    run(main())


def test_a_lane_that_is_retired_finishes_what_waits_without_waiting_for_company() -> None:
    async def main() -> None:
        model = FakeLoaded(signature())
        async with lane_of(model, max_rows=8, max_delay_s=20) as (lane, noted):
            waiting = asyncio.ensure_future(lane.infer(ask(1)))
            await asyncio.sleep(0)
            assert lane.waiting == 1
            lane.retire()
            assert first(await waiting) == [2]
            assert noted.batches == [(1, 1, "drain")]

    run(main())


def test_a_delay_ends_by_itself() -> None:
    async def main() -> None:
        async with lane_of(FakeLoaded(signature()), max_rows=8, max_delay_s=0.01) as (lane, noted):
            answers = await asyncio.gather(lane.infer(ask(1)), lane.infer(ask(2)))
            assert [first(each) for each in answers] == [[2], [4]]
            assert noted.batches == [(2, 2, "delay")]

    run(main())


def test_a_model_whose_answers_cannot_be_split_is_not_batched_again() -> None:
    async def main() -> None:
        model = FakeLoaded(
            signature(), function=lambda v: v.sum(axis=0, keepdims=True), gate=threading.Event()
        )
        async with lane_of(model, max_rows=8) as (lane, noted):
            holding = await busy(lane, model)
            waiting = [asyncio.ensure_future(lane.infer(ask(n, n))) for n in (1, 2)]
            await asyncio.sleep(0)
            assert model.gate is not None
            model.gate.set()
            answers = await asyncio.gather(holding, *waiting)
            assert [first(each) for each in answers] == [[0], [2], [4]]
            assert lane.rules.max_rows == 1
            await asyncio.gather(*(lane.infer(ask(n)) for n in range(4)))
            assert all(requests == 1 for requests, _, _ in noted.batches[2:])

    run(main())


def test_a_model_known_to_be_quick_runs_on_the_event_loop() -> None:
    async def main() -> None:
        ran_on: list[str] = []

        def noting(values: Any) -> Any:
            ran_on.append(threading.current_thread().name)
            return double(values)

        model = FakeLoaded(signature(), function=noting)
        async with lane_of(model, short_run_s=10.0) as (lane, noted):
            for n in range(5):
                assert first(await lane.infer(ask(n))) == [2 * n]
            here = threading.current_thread().name
            assert [each == here for each in ran_on] == [False, False, False, True, True]
            assert [each[2] for each in noted.batches] == ["alone"] * 5

    run(main())


def test_a_quick_model_that_is_never_idle_gets_to_the_event_loop_all_the_same() -> None:
    async def main() -> None:
        ran: list[tuple[float, bool]] = []

        def noting(values: Any) -> Any:
            ran.append((float(values[0, 0]), threading.current_thread() is loop_thread))
            return double(values)

        loop_thread = threading.current_thread()
        model = FakeLoaded(signature(), function=noting, gate=threading.Event())
        async with lane_of(model, short_run_s=10.0, max_rows=8) as (lane, noted):
            holding = await busy(lane, model)
            waiting = [
                asyncio.ensure_future(lane.infer(ask(n, priority=p)))
                for n, p in ((1, 0), (2, 0), (3, 0), (4, 9), (5, 1))
            ]
            await asyncio.sleep(0)
            assert model.gate is not None
            model.gate.set()
            answers = await asyncio.gather(holding, *waiting)
            assert [first(each) for each in answers] == [[0], [2], [4], [6], [8], [10]]
            assert ran == [(0, False), (5, False), (1, False), (2, True), (3, True), (4, True)]
            assert [each[2] for each in noted.batches] == ["alone", *["sample"] * 2, *["alone"] * 3]
            assert (lane.waiting, lane.in_flight) == (0, 0)

    run(main())


def test_a_quick_model_waits_for_company_all_the_same_when_told_to() -> None:
    async def main() -> None:
        rules = {"max_rows": 4, "max_delay_s": 0.01}
        async with lane_of(FakeLoaded(signature()), short_run_s=10.0, **rules) as (lane, noted):
            for n in range(5):
                await asyncio.gather(lane.infer(ask(n)), lane.infer(ask(n)))
            assert noted.batches == [(2, 2, "delay")] * 5

    run(main())


def test_a_quick_model_that_turns_slow_is_stopped_and_run_in_a_thread() -> None:
    async def main() -> None:
        model = FakeLoaded(signature())
        async with lane_of(model, short_run_s=10.0) as (lane, _):
            for n in range(4):
                await lane.infer(ask(n))
            hung_here = threading.Event()
            loop_thread = threading.current_thread()

            def hangs_on_the_loop(values: Any) -> Any:
                if threading.current_thread() is loop_thread:
                    hung_here.set()
                    raise DeadlinePassed("fake", 20)
                return double(values)

            model.function = hangs_on_the_loop
            assert first(await lane.infer(ask(7))) == [14]
            assert hung_here.is_set()
            hung_here.clear()
            assert first(await lane.infer(ask(8))) == [16]
            assert not hung_here.is_set(), "it has to earn the short way anew"

    run(main())


@settings(max_examples=30, deadline=None)
@given(
    requests=st.lists(
        st.lists(st.integers(-1, 50), min_size=1, max_size=4), min_size=1, max_size=12
    ),
    max_rows=st.integers(1, 10),
    seed=st.integers(0, 2**32),
)
def test_batched_equals_single_whatever_the_order_of_arrival(
    scenario: StartScenario, requests: list[list[int]], max_rows: int, seed: int
) -> None:
    tried = scenario("K5", "requests of random sizes share batches")

    async def main() -> None:
        dice = random.Random(seed)
        async with lane_of(FakeLoaded(signature()), max_rows=max_rows, slots=2) as (lane, _):

            async def arriving(values: list[int]) -> Answer | Exception:
                for _ in range(dice.randrange(4)):
                    await asyncio.sleep(0)
                try:
                    return await lane.infer(ask(*values, priority=dice.randrange(3)))
                except ModelFailed as failed:
                    return failed

            answers = await asyncio.gather(*map(arriving, requests))
        for values, answer in zip(requests, answers, strict=True):
            if min(values) < 0:
                assert isinstance(answer, ModelFailed)
            else:
                assert not isinstance(answer, Exception)
                np.testing.assert_array_equal(answer[0], double(rows(*values)))
        tried.shown("each as it would be alone", "equal")

    run(main())
