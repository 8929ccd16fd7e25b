"""Live numbers: one sampler, many listeners, five minutes of history."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from typing import Any

import pytest

from inferflow.api.gateway.management.live_shapes import LiveMetrics
from inferflow.app.backoffice.fleet import ManagedFleet
from inferflow.app.backoffice.live import KEPT, NOTHING, QUEUE, LiveHub
from inferflow.app.backoffice.sampling import Sample, Sampler, pages_at
from inferflow.errors import Unreachable
from inferflow.telemetry.between import Look

Facts = dict[str, Any]


class Rounds:
    """Samples that are numbered."""

    def __init__(self, events: dict[int, list[Facts]] | None = None) -> None:
        self.looks = 0
        self._events = events or {}

    async def look(self) -> Sample:
        self.looks += 1
        return Sample({"type": "metrics", "at_ms": self.looks}, self._events.get(self.looks, []))


async def next_of(listening: AsyncIterator[Facts]) -> Facts:
    return await asyncio.wait_for(anext(listening), 5)


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    asyncio.run(test())


def test_a_listener_gets_the_history_first_and_then_every_message() -> None:
    async def test() -> None:
        event = {"type": "event", "kind": "config_live"}
        hub = LiveHub(Rounds({1: [event], 3: [event]}))
        assert hub.latest() == NOTHING
        await hub.round()
        await hub.round()
        listening = hub.listen()
        history = await next_of(listening)
        assert [each["at_ms"] for each in history["metrics"]] == [1, 2]
        assert history["events"] == [event]
        await hub.round()
        assert await next_of(listening) == event
        assert (await next_of(listening))["at_ms"] == 3
        assert hub.latest()["at_ms"] == 3
        await hub.close()

    run(test)


def test_the_history_is_bounded_and_kept_every_second_look_while_somebody_listens() -> None:
    async def test() -> None:
        hub = LiveHub(Rounds())
        for _ in range(KEPT + 5):
            await hub.round()
        listening = hub.listen()
        assert len((await next_of(listening))["metrics"]) == KEPT
        for _ in range(6):
            await hub.round()
            await next_of(listening)
        again = hub.listen()
        kept = [each["at_ms"] for each in (await next_of(again))["metrics"]]
        assert kept[-4:] == [KEPT + 5, KEPT + 6, KEPT + 8, KEPT + 10]

    run(test)


def test_one_that_does_not_read_is_let_go_and_others_are_not_held_up() -> None:
    async def test() -> None:
        hub = LiveHub(Rounds())
        slow, quick = hub.listen(), hub.listen()
        await next_of(slow)
        await next_of(quick)
        for number in range(1, QUEUE + 3):
            await hub.round()
            assert (await next_of(quick))["at_ms"] == number
        received = [message["at_ms"] async for message in slow]
        assert len(received) < QUEUE + 2

    run(test)


def test_it_looks_less_often_while_nobody_listens() -> None:
    waits: list[float] = []

    async def test() -> None:
        looked = asyncio.Event()

        async def wait(seconds: float) -> None:
            waits.append(seconds)
            looked.set()
            await asyncio.sleep(0)

        hub = LiveHub(Rounds(), wait=wait)
        hub.start()
        await looked.wait()
        listening = hub.listen()
        await next_of(listening)
        await next_of(listening)
        while waits[-1] != 1.0:
            await asyncio.sleep(0)
        await hub.close()
        async for _ in listening:  # it ends
            pass

    run(test)
    assert waits[0] == 2.0


def test_a_round_that_fails_is_logged_and_the_next_is_made(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken:
        looks = 0

        async def look(self) -> Sample:
            self.looks += 1
            raise RuntimeError("no")

    async def test() -> None:
        broken, done = Broken(), asyncio.Event()

        async def wait(_: float) -> None:
            if broken.looks == 2:
                done.set()
            await asyncio.sleep(0)

        hub = LiveHub(broken, wait=wait)
        hub.start()
        await done.wait()
        await hub.close()

    run(test)
    assert "live_failed" in caplog.text


# --- sampling -------------------------------------------------------------------------------


class Servers:
    def __init__(self) -> None:
        self.statuses: list[Facts] = []

    async def configs(self) -> list[Facts]:
        return self.statuses

    async def latest(self, last: int) -> list[Facts]:
        return []

    async def get(self, recording: str, item: str) -> Facts:
        return {}


class Fleet(ManagedFleet):
    def __init__(self, own_key: str) -> None:
        super().__init__(pytest.fail, own_key)
        self.listed: list[Facts] = [{"worker_id": "w", "state": "online"}]
        self.is_away = False
        self.audited: list[Facts] | None = []

    async def workers(self, credential: str) -> list[Facts]:
        assert credential == ""
        if self.is_away:
            raise Unreachable("m", 1, "gone")
        return self.listed

    async def audit(self, credential: str, limit: int) -> list[Facts]:
        if self.audited is None:
            raise Unreachable("m", 1, "gone")
        return self.audited


class Clock:
    def __init__(self) -> None:
        self.s = 100.0

    def __call__(self) -> float:
        return self.s


def status(**more: Any) -> Facts:
    return {
        "id": "a",
        "state": "serving",
        "version": 1,
        "plan": "d1",
        "split": None,
        "author": "ann",
        "problems": [],
        **more,
    }


def test_a_sample_is_what_happened_since_the_last_and_what_changed() -> None:
    looks = iter([Look(requests={("a", "ok"): 5.0}), Look(requests={("a", "ok"): 15.0})])
    servers, fleet, clock = Servers(), Fleet("ifk"), Clock()
    servers.statuses = [status()]

    async def test() -> None:
        sampler = Sampler(lambda: next(looks), servers, fleet, clock=clock, now=lambda: 7.0)
        first = await sampler.look()
        LiveMetrics.model_validate({**first.metrics, "workers": None})
        assert (first.metrics["overview"]["rate"], first.events) == (0.0, [])
        servers.statuses, clock.s = [status(version=2, plan="d2")], 105.0
        fleet.listed = [{"worker_id": "w", "state": "offline"}]
        second = await sampler.look()
        assert second.metrics["overview"]["rate"] == 2.0
        assert second.metrics["workers"] == fleet.listed
        assert [each["kind"] for each in second.events] == ["config_live", "worker_dead"]
        assert second.events[0]["at_ms"] == 7000

    run(test)


def test_a_source_that_is_away_is_said_once_and_costs_only_what_it_has_to_say(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("INFO")
    fleet = Fleet("ifk")
    fleet.is_away = True

    async def test() -> None:
        sampler = Sampler(Look, Servers(), fleet, clock=Clock(), now=lambda: 7.0)
        for _ in range(3):
            assert "workers" not in (await sampler.look()).metrics
        fleet.is_away = False
        assert "workers" in (await sampler.look()).metrics

    run(test)
    assert [record.message for record in caplog.records] == [
        "live_source_away",
        "live_source_back",
    ]


def test_numbers_that_were_away_come_back_without_a_jump() -> None:
    looks: list[Look | None] = [
        Look(requests={("a", "ok"): 1000.0}),
        None,
        Look(requests={("a", "ok"): 1020.0}),
    ]
    clock = Clock()

    def look_around() -> Look:
        clock.s += 5.0
        found = looks.pop(0)
        if found is None:
            raise Unreachable("m", 1, "gone")
        return found

    async def test() -> None:
        sampler = Sampler(look_around, clock=clock, now=lambda: 7.0)
        rates = [(await sampler.look()).metrics["overview"]["rate"] for _ in range(3)]
        assert rates == [0.0, 0.0, 2.0]

    run(test)


def test_changes_that_were_told_are_not_told_again_after_the_manager_was_away() -> None:
    entry = {"at_ms": 1, "by": "k", "action": "key created", "subject": "s", "detail_json": ""}
    fleet = Fleet("ifk")

    async def test() -> None:
        sampler = Sampler(Look, None, fleet, clock=Clock(), now=lambda: 7.0)
        told = []
        for audited in ([], [entry], None, [entry]):
            fleet.audited = audited
            told.append([each["kind"] for each in (await sampler.look()).events])
        assert told == [[], ["key_created"], [], []]

    run(test)


def test_without_a_key_of_its_own_the_gateway_does_not_ask_the_fleet() -> None:
    async def test() -> None:
        sampler = Sampler(Look, None, Fleet(""), clock=Clock(), now=lambda: 7.0)
        assert "workers" not in (await sampler.look()).metrics

    run(test)


def test_metrics_that_cannot_be_fetched_are_unreachable() -> None:
    with pytest.raises(Unreachable):
        pages_at(["http://127.0.0.1:1/metrics"])()
    with pytest.raises(Unreachable):
        pages_at(["nonsense"])()
