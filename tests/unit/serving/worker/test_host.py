"""Models that come and go."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from inferflow.engine.deadline import Deadline
from inferflow.errors import DeadlinePassed, ModelUnavailable, NoRoom, NotFound
from inferflow.serving.worker import Ask, BatchRules, HostPolicy, ModelHost, ModelPlan
from inferflow.serving.worker.observer import SilentObserver
from inferflow.serving.worker.resident import State
from inferflow.testing import ManualClock

from ....robustness.scenario import StartScenario
from .fakes import FakeWorld, rows, run

NEVER = Deadline(None)


class Noted(SilentObserver):
    def __init__(self) -> None:
        self.events: list[str] = []

    def loaded(self, model: str, version: str, seconds: float) -> None:
        self.events.append(f"loaded {model}@{version}")

    def load_failed(self, model: str, version: str) -> None:
        self.events.append(f"failed {model}@{version}")

    def unloaded(self, model: str, version: str, why: str) -> None:
        self.events.append(f"{why} {model}@{version}")


class Stage:
    def __init__(self, folder: Path, files: dict[tuple[str, str], str], **facts: Any) -> None:
        self.clock = ManualClock(1000.0)
        self.world = FakeWorld(files, folder)
        self.noted = Noted()
        self.grown = 0
        self.grows_by = 0
        """How much larger the process is each time somebody looks."""
        plan = facts.pop("plan", ModelPlan())
        self.host = ModelHost(
            self.world,
            self.world,
            policy=HostPolicy(**facts),
            plan_for=lambda _: plan,
            observer=self.noted,
            clock=self.clock,
            process_bytes=self._process_bytes,
        )

    def _process_bytes(self) -> int:
        self.grown += self.grows_by
        return self.grown

    async def infer(self, model: str, version: str = "") -> float:
        lane = await self.host.lane(model, version, NEVER)
        answer = await lane.infer(Ask({"x": rows(1.0)}, ("y",), Deadline(None, clock=self.clock)))
        return float(answer[0][0, 0])

    def states(self) -> dict[str, tuple[State, str]]:
        return {each.label: (each.state, each.reason) for each in self.host.residents()}


@asynccontextmanager
async def stage(
    folder: Path, files: dict[tuple[str, str], str], **facts: Any
) -> AsyncIterator[Stage]:
    made = Stage(folder, files, **facts)
    await made.host.refresh()
    try:
        yield made
    finally:
        if made.world.gate is not None:
            made.world.gate.set()
        await made.host.close()


def test_a_model_is_loaded_by_its_first_request_and_only_then(tmp_path: Path) -> None:
    async def main() -> None:
        async with stage(tmp_path, {("m", "1"): "d"}) as at:
            assert at.world.loads == []
            assert at.host.ready("m", "") is None
            assert at.states() == {
                "m@1": (State.READY, "not in memory; the first request loads it")
            }
            assert await at.infer("m") == 2
            assert await at.infer("m") == 2
            assert at.world.loads == ["m@1"]
            assert at.host.ready("m", "") is at.host.ready("m", "1") is not None

    run(main())


def test_many_who_ask_at_once_share_one_load(tmp_path: Path) -> None:
    async def main() -> None:
        async with stage(tmp_path, {("m", "1"): "d"}) as at:
            answers = await asyncio.gather(*(at.infer("m") for _ in range(20)))
            assert answers == [2.0] * 20
            assert at.world.loads == ["m@1"]

    run(main())


def test_a_caller_whose_deadline_passes_leaves_the_load_to_the_others(tmp_path: Path) -> None:
    async def main() -> None:
        async with stage(tmp_path, {("m", "1"): "d"}) as at:
            at.world.gate = threading.Event()
            patient = asyncio.ensure_future(at.infer("m"))
            with pytest.raises(DeadlinePassed, match="loading"):
                await at.host.lane("m", "", Deadline(10))
            at.world.gate.set()
            assert await patient == 2
            assert at.world.loads == ["m@1"]

    run(main())


def test_an_unknown_model_or_version_is_not_found_with_a_hint(tmp_path: Path) -> None:
    async def main() -> None:
        async with stage(tmp_path, {("ranker", "1"): "d"}) as at:
            with pytest.raises(NotFound, match="did you mean 'ranker'"):
                await at.infer("rankr")
            with pytest.raises(NotFound, match="ranker@7"):
                await at.infer("ranker", "7")

    run(main())


def test_a_model_added_later_is_found_when_asked_for(tmp_path: Path) -> None:
    async def main() -> None:
        async with stage(tmp_path, {}) as at:
            at.world.files["m", "1"] = "d"
            assert await at.infer("m") == 2

    run(main())


def test_versions_live_side_by_side_and_the_last_is_the_default(tmp_path: Path) -> None:
    async def main() -> None:
        async with stage(tmp_path, {("m", "1"): "a", ("m", "2"): "b"}) as at:
            await at.infer("m", "1")
            await at.infer("m")
            assert at.world.loads == ["m@1", "m@2"]
            assert at.host.versions("m") == ("1", "2")
            assert await at.host.resolved("m", "") == "2"

    run(main())


def test_a_new_version_is_the_default_only_once_it_was_loaded(tmp_path: Path) -> None:
    async def main() -> None:
        async with stage(tmp_path, {("m", "1"): "a"}) as at:
            await at.infer("m")
            at.world.files["m", "2"] = "bad"
            await at.host.refresh()
            assert await at.host.resolved("m", "") == "1"
            with pytest.raises(ModelUnavailable):
                await at.host.load("m")
            assert await at.host.resolved("m", "") == "1"
            at.world.files["m", "2"] = "good"
            await at.host.load("m")
            assert await at.host.resolved("m", "") == "2"
            assert at.host.ready("m", "1") is not None

    run(main())


def test_changed_files_take_over_when_loaded_by_hand_and_broken_ones_do_not(
    tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("H6", "a new version that a worker cannot load")

    async def main() -> None:
        async with stage(tmp_path, {("m", "1"): "a"}) as at:
            await at.infer("m")
            before = at.host.ready("m", "")
            at.world.files["m", "1"] = "bad"
            with pytest.raises(ModelUnavailable, match="it is broken"):
                await at.host.load("m")
            assert at.host.ready("m", "") is before
            assert at.states()["m@1"][0] is State.READY
            answer = await at.infer("m")
            tried.holds("the old one answers", answer, answer == 2)
            at.world.files["m", "1"] = "b"
            await at.host.load("m")
            after = at.host.ready("m", "")
            assert after is not None
            assert after is not before
            await at.host.load("m")
            assert at.host.ready("m", "") is after, "the same files are not loaded twice"
            assert at.noted.events == [
                "loaded m@1",
                "failed m@1",
                "replaced m@1",
                "loaded m@1",
            ]

    run(main())


def test_a_model_that_cannot_be_loaded_is_left_alone_for_longer_each_time(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        async with stage(tmp_path, {("m", "1"): "bad", ("other", "1"): "d"}) as at:
            for delay in (1, 2, 4):
                with pytest.raises(ModelUnavailable) as first:
                    await at.infer("m")
                assert first.value.retry_after_ms == delay * 1000
                loads = len(at.world.loads)
                at.clock.advance(delay - 0.5)
                with pytest.raises(ModelUnavailable, match="it is broken") as again:
                    await at.infer("m")
                assert again.value.retry_after_ms == 500
                assert len(at.world.loads) == loads
                at.clock.advance(0.5)
            assert await at.infer("other") == 2
            assert not await at.host.is_ready("m", "")
            at.world.files["m", "1"] = "mended"
            assert await at.infer("m") == 2
            assert await at.host.is_ready("m", "")

    run(main())


def test_the_model_used_least_recently_makes_room(tmp_path: Path) -> None:
    async def main() -> None:
        files = {(name, "1"): name for name in "abc"}
        async with stage(tmp_path, files, memory_bytes=250) as at:
            for name in "aba":
                await at.infer(name)
                at.clock.advance(1)
            await at.infer("c")
            assert at.host.ready("b", "") is None
            assert at.host.ready("a", "") is not None
            assert at.host.memory_bytes == 200
            assert "evicted b@1" in at.noted.events
            assert await at.infer("b") == 2, "it comes back when asked for"

    run(main())


def test_a_model_that_takes_more_than_its_files_makes_idle_ones_leave(tmp_path: Path) -> None:
    async def main() -> None:
        async with stage(tmp_path, {("a", "1"): "a", ("b", "1"): "b"}, memory_bytes=250) as at:
            await at.infer("a")
            at.grows_by = 200
            await at.infer("b")
            assert at.host.ready("a", "") is None
            assert at.host.memory_bytes == 200
            assert "evicted a@1" in at.noted.events

    run(main())


def test_a_busy_model_is_never_evicted(tmp_path: Path) -> None:
    async def main() -> None:
        async with stage(tmp_path, {("a", "1"): "a", ("b", "1"): "b"}, memory_bytes=150) as at:
            await at.infer("a")
            model = at.world.loaded["a@1"]
            model.gate = threading.Event()
            model.started.acquire()
            running = asyncio.ensure_future(at.infer("a"))
            await asyncio.to_thread(model.started.acquire)
            with pytest.raises(NoRoom, match="b@1"):
                await at.infer("b")
            model.gate.set()
            assert await running == 2
            assert await at.infer("b") == 2, "no room is no failure: nothing to wait for"

    run(main())


@pytest.mark.scenario("H7")
def test_a_model_larger_than_the_budget_is_refused_and_nobody_leaves_for_it(
    tmp_path: Path,
) -> None:
    async def main() -> None:
        async with stage(tmp_path, {("a", "1"): "a", ("big", "1"): "b"}, memory_bytes=150) as at:
            await at.infer("a")
            at.world.bytes_each = 1000
            with pytest.raises(NoRoom):
                await at.infer("big")
            assert at.host.ready("a", "") is not None
            assert at.host.memory_bytes == 100

    run(main())


def test_an_idle_model_is_unloaded_and_comes_back(tmp_path: Path) -> None:
    async def main() -> None:
        async with stage(tmp_path, {("m", "1"): "d"}, idle_unload_s=60) as at:
            await at.infer("m")
            at.clock.advance(59)
            at.host.unload_idle()
            assert at.host.ready("m", "") is not None
            at.clock.advance(1)
            at.host.unload_idle()
            assert at.host.ready("m", "") is None
            assert at.host.memory_bytes == 0
            assert await at.infer("m") == 2
            assert at.noted.events == ["loaded m@1", "idle m@1", "loaded m@1"]

    run(main())


def test_a_model_unloaded_by_hand_stays_away_until_loaded_by_hand(tmp_path: Path) -> None:
    async def main() -> None:
        async with stage(tmp_path, {("m", "1"): "d"}) as at:
            await at.infer("m")
            await at.host.unload("m")
            assert at.states() == {"m@1": (State.UNAVAILABLE, "unloaded")}
            with pytest.raises(ModelUnavailable, match="load it first"):
                await at.infer("m")
            await at.host.load("m")
            assert await at.infer("m") == 2
            with pytest.raises(NotFound):
                await at.host.unload("nobody")

    run(main())


def test_a_run_under_way_finishes_on_a_model_that_is_unloaded(tmp_path: Path) -> None:
    async def main() -> None:
        async with stage(tmp_path, {("m", "1"): "d"}, threads=1) as at:
            await at.infer("m")
            model = at.world.loaded["m@1"]
            model.gate = threading.Event()
            model.started.acquire()
            running = [asyncio.ensure_future(at.infer("m")) for _ in range(3)]
            await asyncio.to_thread(model.started.acquire)
            await at.host.unload("m")
            model.gate.set()
            assert await asyncio.gather(*running) == [2, 2, 2]

    run(main())


def test_unloading_a_model_while_it_loads_tells_those_who_wait(tmp_path: Path) -> None:
    async def main() -> None:
        async with stage(tmp_path, {("m", "1"): "d"}) as at:
            at.world.gate = threading.Event()
            waiting = asyncio.ensure_future(at.infer("m"))
            while not at.world.loads:
                await asyncio.sleep(0)
            await at.host.unload("m")
            with pytest.raises(ModelUnavailable, match="unloaded while"):
                await waiting
            assert at.host.memory_bytes == 0

    run(main())


def test_what_is_prefetched_is_there_and_what_fails_stops_nothing(tmp_path: Path) -> None:
    async def main() -> None:
        files = {("a", "1"): "a", ("a", "2"): "a2", ("broken", "1"): "bad"}
        async with stage(tmp_path, files) as at:
            await at.host.prefetch(["broken", "nobody", "a@1"])
            assert at.host.ready("a", "1") is not None
            assert at.host.ready("a", "2") is None

    run(main())


def test_describing_a_model_that_was_unloaded_does_not_load_it_again(tmp_path: Path) -> None:
    async def main() -> None:
        async with stage(tmp_path, {("m", "1"): "d"}, idle_unload_s=1) as at:
            signature = await at.host.signature("m", "", NEVER)
            at.clock.advance(2)
            at.host.unload_idle()
            assert await at.host.signature("m", "", NEVER) is signature
            assert at.world.loads == ["m@1"]

    run(main())


def test_a_model_with_fixed_rows_is_not_batched(tmp_path: Path) -> None:
    from dataclasses import replace

    async def main() -> None:
        plan = ModelPlan(rules=BatchRules(max_rows=8, queue_limit=3))
        async with stage(tmp_path, {("m", "1"): "d"}, plan=plan) as at:
            free = await at.host.signature("m", "", NEVER)
            assert at.host.rules_for(free).max_rows == 8
            fixed = replace(free, inputs=(replace(free.inputs[0], shape=(1, 2)),))
            assert at.host.rules_for(fixed) == BatchRules(max_rows=1, queue_limit=3)

    run(main())
