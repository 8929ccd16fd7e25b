"""Calls that fail: what is repeated, where, how often, and what is said in the end."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from inferflow.client.oip.line import LineOptions
from inferflow.client.oip.runner import RemoteModels, RemoteOptions
from inferflow.engine.deadline import Deadline
from inferflow.errors import DeadlinePassed, ModelFailed, Overloaded, Unreachable
from inferflow.plan.catalog import UnknownSignature

from ....robustness.scenario import StartScenario
from ....servers.open_inference import OipServer, serving
from .remote_parts import Pauses, X, answering, endpoint, ran, remote, twice, unused_address


@pytest.fixture
def server() -> Iterator[OipServer]:
    with serving(twice()) as running:
        yield running


# --- refusals and repetitions -------------------------------------------------------------------


class Script:
    """Ends calls with these statuses in turn, then answers."""

    def __init__(self, *codes: grpc.StatusCode, trailing: tuple[tuple[str, str], ...] = ()) -> None:
        self.codes = list(codes)
        self.trailing = trailing
        self.calls = 0

    def __call__(self, request: Any, context: Any) -> bytes:
        self.calls += 1
        if self.codes:
            context.set_trailing_metadata(self.trailing)
            context.abort(self.codes.pop(0), "told so")
        return answering("FP32", [[1.0], [2.0]])(request, context)


def test_a_server_that_is_away_for_a_moment_is_asked_again(server: OipServer) -> None:
    server.infer = script = Script(*[grpc.StatusCode.UNAVAILABLE] * 2)
    pauses = Pauses()
    assert ran(remote(pauses), endpoint(server.address)).tolist() == [[1.0], [2.0]]
    assert script.calls == 3
    assert pauses.taken == [0.01, 0.02]


def test_it_is_given_up_after_three_attempts(server: OipServer) -> None:
    server.infer = script = Script(*[grpc.StatusCode.UNAVAILABLE] * 5)
    with pytest.raises(Unreachable, match=f"{server.address}, tried 3 times: told so"):
        ran(remote(), endpoint(server.address))
    assert script.calls == 3


@pytest.mark.parametrize(
    "code",
    [
        grpc.StatusCode.INVALID_ARGUMENT,
        grpc.StatusCode.NOT_FOUND,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
    ],
)
def test_no_other_failure_is_repeated(server: OipServer, code: grpc.StatusCode) -> None:
    server.infer = script = Script(code)
    with pytest.raises(ModelFailed, match=f"{server.address} answered {code.name}: told so"):
        ran(remote(), endpoint(server.address))
    assert script.calls == 1


def test_a_server_that_is_busy_says_when_to_come_back(server: OipServer) -> None:
    exhausted = grpc.StatusCode.RESOURCE_EXHAUSTED
    server.infer = Script(exhausted, trailing=(("retry-after-ms", "25"),))
    with pytest.raises(Overloaded) as busy:
        ran(remote(), endpoint(server.address))
    assert busy.value.retry_after_ms == 25


def test_a_server_that_asks_not_to_be_asked_again_is_not(server: OipServer) -> None:
    away = grpc.StatusCode.UNAVAILABLE
    server.infer = script = Script(away, trailing=(("grpc-retry-pushback-ms", "-1"),))
    with pytest.raises(Unreachable, match="tried once"):
        ran(remote(), endpoint(server.address))
    assert script.calls == 1


def test_a_burst_of_failures_does_not_multiply_calls(
    server: OipServer, scenario: StartScenario
) -> None:
    tried = scenario("D4", "400 calls, of which every attempt fails")
    server.infer = script = Script(*[grpc.StatusCode.UNAVAILABLE] * 100_000)
    models = remote()
    prepared = models.prepare(endpoint(server.address), ("x",), ("y",))

    async def many() -> None:
        for _ in range(400):
            with pytest.raises(Unreachable):
                await prepared.run([X], deadline=Deadline(None))

    asyncio.run(many())
    saved, tenth = 100, 40
    assert 400 + saved <= script.calls
    repeated = script.calls - 400 - saved
    tried.at_most("repeated, beside the 100 saved up: a tenth of calls", repeated, tenth)


def test_nobody_there_is_said_at_once_and_by_name(scenario: StartScenario) -> None:
    tried = scenario("B6", "nobody is at the address of a worker")
    address = unused_address()
    with (
        tried.timed("said, with the address", 0.05),
        pytest.raises(Unreachable, match=f"no server answered at {address}"),
    ):
        ran(remote(), endpoint(address), budget_ms=30_000)


def test_a_slow_server_is_left_at_the_deadline(server: OipServer) -> None:
    ended = threading.Event()

    def slow(request: Any, context: Any) -> bytes:
        context.add_callback(ended.set)
        ended.wait(30)
        return b""

    server.infer = slow
    with pytest.raises(DeadlinePassed, match=f"model 'twice' at {server.address} did not finish"):
        ran(remote(), endpoint(server.address), budget_ms=100)
    assert ended.wait(10), "the server was not told that nobody waits"


def test_a_call_that_nobody_set_a_limit_for_has_one(server: OipServer) -> None:
    ended = threading.Event()

    def hung(request: Any, context: Any) -> bytes:
        context.add_callback(ended.set)
        ended.wait(30)
        return b""

    server.infer = hung
    with pytest.raises(DeadlinePassed, match="within 80 ms"):
        ran(remote(default_deadline_ms=80), endpoint(server.address), budget_ms=None)


def test_a_socket_that_never_answers_is_left_at_the_deadline(scenario: StartScenario) -> None:
    tried = scenario("B5", "a worker takes connections and never speaks")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        models = remote(metadata_timeout_s=0.1)
        assert isinstance(models.signature(endpoint(address)), UnknownSignature)
        with tried.timed("a run with 100 ms ends", 0.11), pytest.raises(DeadlinePassed):
            ran(models, endpoint(address), budget_ms=100)


def test_time_that_is_up_before_the_call_makes_none(server: OipServer) -> None:
    with pytest.raises(DeadlinePassed):
        ran(remote(), endpoint(server.address), budget_ms=0)
    assert server.requests == []


# --- several servers that answer alike ----------------------------------------------------------


def test_several_servers_share_calls_and_cover_for_each_other(server: OipServer) -> None:
    with serving(twice()) as other:
        both = endpoint(f"{server.address},{other.address}")
        prepared = remote().prepare(both, ("x",), ("y",))

        async def run(times: int) -> None:
            for _ in range(times):
                [y] = await prepared.run([X], deadline=Deadline(5_000))
                assert y.tolist() == [[2.0], [5.0]]

        async def until_both(at_most: int = 500) -> None:
            for _ in range(at_most):  # the second connection may take a moment
                await run(1)
                if server.requests and other.requests:
                    return
            raise AssertionError("one server was never asked")

        async def test() -> None:
            await until_both()
            other.infer = lambda _, context: context.abort(grpc.StatusCode.UNAVAILABLE, "gone")
            await run(30)

        asyncio.run(test())


def test_a_server_that_fails_most_calls_is_left_out_for_a_while(server: OipServer) -> None:
    with serving(twice()) as bad:
        bad.infer = lambda _, context: context.abort(grpc.StatusCode.INTERNAL, "broken")
        options = LineOptions(eject_after_ms=50)
        both = endpoint(f"{server.address},{bad.address}")
        prepared = RemoteModels(RemoteOptions(options)).prepare(both, ("x",), ("y",))

        async def in_a_row(wanted: int) -> None:
            answered = 0
            for _ in range(100_000):
                try:
                    await prepared.run([X], deadline=Deadline(5_000))
                    answered += 1
                except ModelFailed:
                    answered = 0
                if answered == wanted:
                    return
            raise AssertionError("the broken server was asked all the time")

        asyncio.run(in_a_row(20))
        assert bad.requests


def test_a_host_that_nobody_knows_fails_the_call_and_not_the_config() -> None:
    models = remote()
    where = endpoint("nobody.invalid:1,127.0.0.1:1")
    assert isinstance(models.signature(where), UnknownSignature)
    with pytest.raises(ModelFailed, match=r"nobody\.invalid: no such host"):
        ran(models, where)
