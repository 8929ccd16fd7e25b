"""Sending a load. Time is virtual: it passes only when everybody waits."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from inferflow.client.load.generator import Generator
from inferflow.client.load.plan import Call, Load
from inferflow.client.load.report import report_of
from inferflow.client.load.tally import Failure, Tally

from .virtual_time import VirtualTime

A, B = Call("/s/A", b"a"), Call("/s/B", b"b")


class Server:
    """Takes this long for each call, and one at a time when it has a lock."""

    def __init__(self, time: VirtualTime, latency_s: float, *, one_at_a_time: bool = False) -> None:
        self.time = time
        self.latency_s = latency_s
        self.stall_at = float("inf")
        self.stall_s = 0.0
        self.asked: list[tuple[float, int, Call]] = []
        self.under_way = self.most = 0
        self.failure: Failure | None = None
        self._lock = asyncio.Lock() if one_at_a_time else None

    async def __call__(self, connection: int, call: Call) -> Failure | None:
        self.asked.append((self.time(), connection, call))
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            if self._lock is None:
                await self._work()
            else:
                async with self._lock:
                    await self._work()
        finally:
            self.under_way -= 1
        return self.failure

    async def _work(self) -> None:
        stalled, self.stall_s = (
            (self.stall_s, 0.0) if self.time() >= self.stall_at else (0.0, self.stall_s)
        )
        await self.time.sleep(self.latency_s + stalled)


def send(
    load: Load,
    ask: Callable[[int, Call], Awaitable[Failure | None]],
    time: VirtualTime,
    *,
    sleep: Callable[[float], Awaitable[object]] | None = None,
    stop_after: float | None = None,
) -> Tally:
    async def main() -> Tally:
        stop = asyncio.Event()
        generator = Generator(load, ask, clock=time, sleep=sleep or time.sleep)
        running = asyncio.ensure_future(generator.run(stop))
        if stop_after is not None:
            await time.sleep(stop_after)
            stop.set()
        return await running

    return time.run(main())


def test_an_open_loop_sends_when_calls_are_due_and_measures_after_the_warm_up() -> None:
    time = VirtualTime()
    server = Server(time, 0.05)
    tally = send(Load("t:1", (A, B), seconds=2, rate=10, warmup_s=1), server, time)
    assert [at for at, _, _ in server.asked] == pytest.approx([n / 10 for n in range(30)])
    assert [call for _, _, call in server.asked] == [A, B] * 15
    assert list(tally.latencies_s) == pytest.approx([0.05] * 20)
    assert list(tally.late_s) == pytest.approx([0.0] * 20)
    assert (tally.window_s, tally.answered_in_window) == (2, 20)


def test_calls_that_wait_behind_a_stall_are_charged_with_the_wait() -> None:
    time = VirtualTime()
    server = Server(time, 0.01, one_at_a_time=True)
    server.stall_at, server.stall_s = 0.5, 0.35
    tally = send(Load("t:1", (A,), seconds=1, rate=10, warmup_s=0), server, time)

    free_at, expected = 0.0, []  # the same, told as a queue
    for due in (n / 10 for n in range(10)):
        free_at = max(free_at, due) + 0.01 + (0.35 if due == 0.5 else 0.0)
        expected.append(free_at - due)
    assert sorted(tally.latencies_s) == pytest.approx(sorted(expected))
    assert sum(latency > 0.05 for latency in tally.latencies_s) == 4


def test_a_generator_that_is_late_says_so_and_its_lateness_is_part_of_the_latency() -> None:
    time = VirtualTime()

    async def oversleep(seconds: float) -> None:
        await time.sleep(seconds + 0.03)

    load = Load("t:1", (A,), seconds=1, rate=10, warmup_s=0)
    tally = send(load, Server(time, 0.01), time, sleep=oversleep)
    assert list(tally.late_s) == pytest.approx([0.03] * 10)
    assert list(tally.latencies_s) == pytest.approx([0.04] * 10)
    (doubt,) = report_of(load, tally).doubts
    assert "100.0% of the calls were sent more than 2 ms after they were due" in doubt


def test_a_closed_loop_keeps_so_many_calls_under_way() -> None:
    time = VirtualTime()
    server = Server(time, 0.1)
    load = Load("t:1", (A, B), seconds=1, concurrency=3, connections=2, warmup_s=0.5)
    tally = send(load, server, time)
    assert server.most == 3
    assert {connection for _, connection, _ in server.asked} == {0, 1}
    assert abs(sum(1 if call is A else -1 for _, _, call in server.asked)) <= 1
    assert len(tally.latencies_s) == pytest.approx(30, abs=3)
    assert list(tally.latencies_s) == pytest.approx([0.1] * len(tally.latencies_s))
    assert not tally.late_s


def test_an_answer_after_the_end_is_measured_but_no_throughput() -> None:
    time = VirtualTime()
    tally = send(Load("t:1", (A,), seconds=1, rate=1, warmup_s=0), Server(time, 5.0), time)
    assert list(tally.latencies_s) == pytest.approx([5.0])
    assert tally.answered_in_window == 0


def test_a_stop_gives_up_calls_under_way_and_keeps_what_was_measured() -> None:
    time = VirtualTime()
    server = Server(time, 0.25)
    load = Load("t:1", (A,), seconds=100, rate=10, warmup_s=1)
    tally = send(load, server, time, stop_after=2.01)
    assert tally.window_s == pytest.approx(1.01)
    assert len(tally.latencies_s) == 8
    assert server.under_way == 0
    assert not tally.failures


def test_a_stop_during_the_warm_up_has_measured_nothing() -> None:
    time = VirtualTime()
    load = Load("t:1", (A,), seconds=100, rate=10, warmup_s=1)
    tally = send(load, Server(time, 0.01), time, stop_after=0.5)
    assert (tally.window_s, len(tally.latencies_s)) == (0.0, 0)
    assert report_of(load, tally).per_second == 0.0


def test_calls_due_while_too_many_are_under_way_are_counted_and_not_sent() -> None:
    time = VirtualTime()
    server = Server(time, 10.0)
    load = Load("t:1", (A,), seconds=1, rate=10, warmup_s=0, most_in_flight=4)
    tally = send(load, server, time)
    assert (len(server.asked), tally.unsent) == (4, 6)
    assert "6 calls were not sent" in report_of(load, tally).doubts[-1]


def test_failures_are_counted_by_code_with_the_first_words() -> None:
    time = VirtualTime()
    server = Server(time, 0.01)
    server.failure = Failure("INTERNAL", "oh")
    tally = send(Load("t:1", (A,), seconds=1, rate=10, warmup_s=0), server, time)
    assert tally.failures == {"INTERNAL": 10}
    assert tally.details == {"INTERNAL": "oh"}
    assert not tally.latencies_s


def test_a_server_that_is_away_is_not_asked_in_a_frenzy() -> None:
    time = VirtualTime()
    server = Server(time, 0.0)
    server.failure = Failure("UNAVAILABLE")
    load = Load("t:1", (A,), seconds=1, concurrency=1, connections=1, warmup_s=0)
    assert send(load, server, time).failed == pytest.approx(100, abs=1)


def test_a_bug_in_a_call_is_not_swallowed() -> None:
    time = VirtualTime()

    async def broken(connection: int, call: Call) -> Failure | None:
        raise ZeroDivisionError

    with pytest.raises(ExceptionGroup) as raised:
        send(Load("t:1", (A,), seconds=1, rate=10, warmup_s=0), broken, time)
    assert raised.group_contains(ZeroDivisionError)
