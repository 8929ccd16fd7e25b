"""When a silent server stops being asked, and how it is found to be back."""

from __future__ import annotations

import asyncio

import grpc
import pytest

from inferflow.client.oip.breaker import PROBE_S, SILENT_CALLS, SILENT_S, Breaker
from inferflow.client.oip.line import Line, LineOptions
from inferflow.client.oip.request import InferRequest
from inferflow.engine.deadline import Deadline
from inferflow.errors import ModelFailed, Unreachable

from ....robustness.scenario import StartScenario
from ....servers.etcd import until
from ....servers.open_inference import serving
from .remote_parts import Pauses, X, twice, unused_address


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def breaker(clock: Clock) -> Breaker:
    return Breaker("far:1", clock=clock)


def opened(breaker: Breaker, clock: Clock) -> None:
    breaker.silent("refused")
    clock.now += SILENT_S
    for _ in range(SILENT_CALLS - 1):
        breaker.silent("refused")


def test_a_server_that_answers_is_always_asked(breaker: Breaker, clock: Clock) -> None:
    for _ in range(100):
        clock.now += 1
        assert breaker.lets_through()
        for _ in range(SILENT_CALLS - 1):
            breaker.silent("refused")
        breaker.answered()


def test_after_some_silence_one_call_a_second_is_let_through(
    breaker: Breaker, clock: Clock
) -> None:
    opened(breaker, clock)
    assert breaker.why == "refused"
    let_through = 0
    for _ in range(1000):
        clock.now += PROBE_S / 100
        let_through += breaker.lets_through()
    assert let_through == pytest.approx(1000 / 100, abs=1)


def test_calls_that_failed_together_are_one_misfortune(breaker: Breaker) -> None:
    for _ in range(10 * SILENT_CALLS):
        breaker.silent("reset")
    assert breaker.lets_through()


def test_the_first_answer_ends_it(breaker: Breaker, clock: Clock) -> None:
    opened(breaker, clock)
    assert not breaker.lets_through()
    clock.now += PROBE_S
    assert breaker.lets_through()
    assert not breaker.lets_through()
    breaker.answered()
    assert breaker.lets_through()
    breaker.silent("refused")
    assert breaker.lets_through()


def test_a_probe_that_meets_silence_keeps_it_closed_to_others(
    breaker: Breaker, clock: Clock
) -> None:
    opened(breaker, clock)
    clock.now += PROBE_S
    assert breaker.lets_through()
    breaker.silent("refused")
    assert not breaker.lets_through()


# --- on a line ------------------------------------------------------------------------------


class Asked:
    """A line, and calls over it."""

    def __init__(self, address: str, clock: Clock) -> None:
        self.pauses = Pauses()
        self._clock = clock
        self._line = Line(address, LineOptions(clock=clock, wait=self.pauses))
        self._body = InferRequest("twice", None, ("x",), ("y",), bf16=()).of([X])

    def __call__(self) -> bytes:
        return asyncio.run(self._line.ask(self._body, "twice", Deadline(5_000)))

    def answers_after(self, seconds: float) -> bool:
        self._clock.now += seconds
        try:
            return bool(self())
        except Unreachable:
            return False


def test_a_dead_server_is_soon_not_tried_at_every_call_and_is_found_again(
    clock: Clock, scenario: StartScenario
) -> None:
    tried = scenario("D4", "a server dies and comes back")
    address = unused_address()
    asked = Asked(address, clock)
    for _ in range(SILENT_CALLS):
        with pytest.raises(Unreachable, match="tried 3 times"):
            asked()
        clock.now += SILENT_S
    taken = len(asked.pauses.taken)
    with pytest.raises(Unreachable, match=f"{address}, not tried again yet: "):
        asked()
    attempts = len(asked.pauses.taken) - taken
    tried.at_most(f"repeated attempts after {SILENT_CALLS} calls and {SILENT_S} s", attempts, 0)
    with serving(twice(), port=int(address.rpartition(":")[2])):
        with tried.timed("found again, gRPC's own pause included", 2):
            until(lambda: asked.answers_after(PROBE_S), within_s=10)
        assert asked()


def test_a_server_that_refuses_everything_is_not_silent(clock: Clock) -> None:
    with serving(twice()) as server:
        server.infer = lambda _, context: context.abort(grpc.StatusCode.INTERNAL, "broken")
        asked = Asked(server.address, clock)
        for _ in range(3 * SILENT_CALLS):
            clock.now += SILENT_S
            with pytest.raises(ModelFailed, match="broken"):
                asked()
