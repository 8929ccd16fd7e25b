"""Calls, deadlines and repetitions, against a server that does as it is told."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest

import inferflow
from inferflow._proto import messages
from inferflow.client.aio import AsyncClient, ClientOptions, pause
from inferflow.client.sync import open_client
from inferflow.errors import (
    DeadlinePassed,
    InferflowError,
    InvalidInput,
    InvalidRequest,
    NotFound,
    Overloaded,
    Unreachable,
)
from inferflow.rpc.server import RpcServer, start_server
from inferflow.testing import ManualClock

Handle = Callable[[bytes, Any], Awaitable[bytes]]


async def start(handle: Handle, port: int = 0) -> RpcServer:
    async def handled(body: bytes, context: Any) -> bytes:
        return await handle(body, context)

    methods = {"InferPointWise": grpc.unary_unary_rpc_method_handler(handled)}
    handlers = [grpc.method_handlers_generic_handler("Predict", methods)]
    server = await start_server(handlers, services=["Predict"], port=port)
    await server.say_serving(True)
    return server


class Script:
    """Ends calls with these statuses in turn, then answers."""

    def __init__(self, *codes: grpc.StatusCode) -> None:
        self.codes = list(codes)
        self.headers: dict[str, Any] = {}
        self.left_s: float | None = None
        self.tenant_id = ""
        self.calls = 0

    async def __call__(self, body: bytes, context: Any) -> bytes:
        self.calls += 1
        self.headers = dict(context.invocation_metadata())
        self.left_s = context.time_remaining()
        if self.codes:
            await context.abort(self.codes.pop(0), "told so")
        sent = messages.PointWiseRequest.FromString(body)
        self.tenant_id = sent.tenant_id
        answer = messages.PointWiseResponse()
        answer.target_output_schema.add(name="n", data_type=14)
        for target in sent.targets:
            answer.target_scores.add(output_values=[target.id.encode()])
        context.set_trailing_metadata((("x-inferflow-config-version", "v7"),))
        done: bytes = answer.SerializeToString()
        return done


class Pauses:
    """Waits without waiting."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


def asked(
    script: Handle,
    ask: Callable[[AsyncClient], Awaitable[Any]],
    pauses: Pauses | None = None,
    *,
    attempts: int = 3,
    deadline_ms: float | None = 10_000,
    chance: float = 1.0,
    clock: Callable[[], float] = time.monotonic,
    **more: Any,
) -> Any:
    async def test() -> Any:
        server = await start(script)
        options = ClientOptions(deadline_ms, attempts, **more)
        address = f"127.0.0.1:{server.port}"
        wait = pauses or Pauses()
        try:
            async with AsyncClient(
                address, options, wait=wait, chance=lambda: chance, clock=clock
            ) as client:
                return await ask(client)
        finally:
            await server.stop()

    return asyncio.run(test())


def test_a_call_is_answered() -> None:
    scores = asked(Script(), lambda client: client.score("c", product=["a", "b"]))
    assert scores["n"].tolist() == ["a", "b"]
    assert scores.config_version == "v7"


def test_a_server_that_is_away_is_asked_again_after_longer_and_longer_pauses() -> None:
    away, leaving = grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED
    script, pauses = Script(away, leaving, away), Pauses()
    asked(script, lambda client: client.score("c", product=["a"]), pauses, attempts=4)
    assert script.calls == 4
    assert pauses.taken == [pause(n, 1.0) for n in (1, 2, 3)] == [0.05, 0.1, 0.2]


def test_after_so_many_attempts_it_is_given_up() -> None:
    script = Script(*[grpc.StatusCode.UNAVAILABLE] * 3)
    with pytest.raises(Unreachable, match="tried 3 times: told so"):
        asked(script, lambda client: client.score("c", product=["a"]))
    assert script.calls == 3


def test_calls_that_a_server_cuts_off_are_repeated_within_a_budget() -> None:
    script = Script(*[grpc.StatusCode.CANCELLED] * 500)

    async def ask(client: AsyncClient) -> int:
        for _ in range(100):
            with pytest.raises(Unreachable):
                await client.score("c", product=["a"])
        return script.calls

    calls = asked(script, ask, attempts=5, throttle=None, clock=ManualClock())
    # A hundred calls, a hundred repetitions that there are at the start, and one more for every
    # tenth call.
    assert calls == pytest.approx(210, abs=1)


@pytest.mark.scenario("I1")
def test_a_client_whose_calls_are_refused_for_load_keeps_most_of_them_and_says_so() -> None:
    asked_for = 0

    async def refuse(_body: bytes, context: Any) -> bytes:
        nonlocal asked_for
        asked_for += 1
        await context.abort(
            grpc.StatusCode.RESOURCE_EXHAUSTED, "no place", (("retry-after-ms", "70"),)
        )
        return b""

    async def ask(client: AsyncClient) -> list[Overloaded]:
        met = []
        for _ in range(60):
            with pytest.raises(Overloaded) as refused:
                await client.score("c", product=["a"])
            met.append(refused.value)
        return met

    # The chance is 1 here, which keeps nothing: with one of 0, everything is kept that may be.
    assert not any(each.is_local for each in asked(refuse, ask))
    asked_for = 0
    met = asked(refuse, ask, chance=0.0)
    assert asked_for == 10
    assert [each.is_local for each in met] == [False] * 10 + [True] * 50
    assert {each.retry_after_ms for each in met} == {70}


def test_failures_that_are_not_for_load_keep_nothing_back() -> None:
    script = Script(*[grpc.StatusCode.INTERNAL, grpc.StatusCode.NOT_FOUND] * 20)

    async def ask(client: AsyncClient) -> None:
        for _ in range(40):
            with pytest.raises(InferflowError, match="told so"):
                await client.score("c", product=["a"])

    asked(script, ask, chance=0.0)
    assert script.calls == 40


@pytest.mark.parametrize(
    "code",
    [grpc.StatusCode.NOT_FOUND, grpc.StatusCode.RESOURCE_EXHAUSTED, grpc.StatusCode.INTERNAL],
)
def test_what_would_fail_again_is_not_repeated(code: grpc.StatusCode) -> None:
    script = Script(code)
    with pytest.raises(InferflowError, match="told so"):
        asked(script, lambda client: client.score("c", product=["a"]))
    assert script.calls == 1


def test_a_pause_that_outlasts_the_deadline_is_not_begun() -> None:
    script, pauses = Script(*[grpc.StatusCode.UNAVAILABLE] * 99), Pauses()
    with pytest.raises(Unreachable):
        asked(
            script,
            lambda client: client.score("c", product=["a"], deadline_ms=990),
            pauses,
            attempts=99,
        )
    assert script.calls <= 6
    assert 1.0 not in pauses.taken


def test_pauses_double_up_to_a_second_and_are_cut_by_chance() -> None:
    assert [pause(n, 1.0) for n in range(1, 8)] == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0]
    assert pause(1, 0.0) == 0.025
    assert pause(10_000, 0.0) == 0.5


async def never(body: bytes, context: Any) -> bytes:
    await asyncio.Event().wait()
    return b""


def test_a_deadline_ends_a_call_that_hangs() -> None:
    with pytest.raises(DeadlinePassed, match=r"'c' at 127.0.0.1:\d+ did not finish within 50 ms"):
        asked(never, lambda client: client.score("c", product=["a"], deadline_ms=50))
    with pytest.raises(DeadlinePassed):
        asked(never, lambda client: client.score("c", product=["a"]), deadline_ms=50)


def test_a_deadline_that_has_passed_is_not_sent() -> None:
    script = Script()
    with pytest.raises(DeadlinePassed):
        asked(script, lambda client: client.score("c", product=["a"], deadline_ms=0))
    assert script.calls == 0


def test_the_server_is_told_how_long_there_is_and_who_asks() -> None:
    script = Script()
    asked(script, lambda client: client.score("c", product=["a"], deadline_ms=5e3, for_user="7"))
    assert script.left_s is not None
    assert 0 < script.left_s < 6  # gRPC rounds it up
    assert script.headers["user-id"] == "7"
    asked(script, lambda client: client.score("c", product=["a"]), deadline_ms=None)
    assert script.left_s is None
    assert "user-id" not in script.headers


def test_the_server_is_told_who_calls_and_what_is_ranked() -> None:
    script = Script()
    more = {"tenant_id": "shop", "app_version": "4.2"}
    asked(script, lambda client: client.score("c", user="7", product=["a"]), **more)
    assert script.headers["app-version-code"] == "4.2"
    assert script.headers["x-inferflow-target"] == "product"
    assert script.tenant_id == "shop"


def test_a_name_that_no_header_can_hold_is_not_sent_in_one() -> None:
    script = Script()
    asked(script, lambda client: client.score("c", entities={"é": ["a"]}))
    assert "x-inferflow-target" not in script.headers


def test_wrong_arguments_are_refused_before_anything_is_sent() -> None:
    script = Script()
    for arguments, what in (
        ({"product": ["a"], "deadline_ms": "soon"}, "deadline_ms: 'soon' is not a number"),
        ({"product": ["a"], "for_user": "jürgen"}, "for_user: .* printable ASCII"),
        ({}, "names no entity"),
    ):
        with pytest.raises(InvalidRequest, match=what):
            asked(script, lambda client, a=arguments: client.score("c", **a))  # type: ignore[misc]
    assert script.calls == 0


@pytest.mark.parametrize(
    ("wrong", "what"),
    [({"attempts": 0}, "at least once"), ({"values": "json"}, "'typed' or 'text'")],
)
def test_wrong_options_are_refused_at_once(wrong: dict[str, Any], what: str) -> None:
    with pytest.raises(InvalidInput, match=what):
        inferflow.connect("127.0.0.1:1", **wrong)
    with pytest.raises(InvalidInput, match="write host:port"):
        inferflow.connect("nowhere")


def test_a_call_under_way_is_told_that_its_client_was_closed() -> None:
    async def test() -> None:
        begun = asyncio.Event()

        async def hang(body: bytes, context: Any) -> bytes:
            begun.set()
            return await never(body, context)

        server = await start(hang)
        client = AsyncClient(f"127.0.0.1:{server.port}", ClientOptions(None, 1))
        call = asyncio.create_task(client.score("c", product=["a"]))
        await begun.wait()
        await client.close()
        with pytest.raises(InvalidInput, match="closed during the call"):
            await call
        with pytest.raises(InvalidInput, match="is closed"):
            await client.score("c", product=["a"])
        await server.stop()

    asyncio.run(test())


def test_a_task_that_is_cancelled_is_cancelled() -> None:
    async def cancelled(client: AsyncClient) -> bool:
        call = asyncio.create_task(client.score("c", product=["a"]))
        await asyncio.sleep(0)
        call.cancel()
        await asyncio.wait((call,))
        return call.cancelled()

    assert asked(never, cancelled)


def test_a_sync_client_is_shared_by_threads_and_closed_twice_without_harm() -> None:
    """The server has the only other event loop of this process."""
    ready, over = threading.Event(), threading.Event()
    port = 0

    async def serve() -> None:
        nonlocal port
        server = await start(Script())
        port = server.port
        ready.set()
        while not over.is_set():
            await asyncio.sleep(0.01)
        await server.stop()

    serving = threading.Thread(target=asyncio.run, args=(serve(),))
    serving.start()
    try:
        assert ready.wait(30)
        options = ClientOptions(10_000, 1)
        first = open_client(f"127.0.0.1:{port}", options)
        second = open_client(f"127.0.0.1:{port}", options)
        found: list[Any] = []
        threads = [
            threading.Thread(
                target=lambda n=n: found.append(first.score("c", product=[n])["n"].tolist())  # type: ignore[misc]
            )
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(found) == [[str(n)] for n in range(8)]
        first.close()
        first.close()
        with pytest.raises(InvalidInput, match="is closed"):
            first.score("c", product=["a"])
        assert second.score("c", product=["a"])["n"].tolist() == ["a"]
        with pytest.raises(InferflowError):
            second.score_pairs("c", [[0, 1]], product=["a", "b"])
        second.close()
        assert "inferflow-client" not in [thread.name for thread in threading.enumerate()]
    finally:
        over.set()
        serving.join()


def test_an_unknown_host_of_several_is_told_at_once() -> None:
    with pytest.raises(InvalidInput, match="no such host"):
        inferflow.connect(["nowhere.invalid:1", "127.0.0.1:1"])


def test_an_error_can_be_told_from_others_by_its_class() -> None:
    with pytest.raises(NotFound) as absent:
        asked(Script(grpc.StatusCode.NOT_FOUND), lambda client: client.score("c", product=["a"]))
    assert absent.value.name == "c"


def test_a_missing_grpc_names_its_extra() -> None:
    program = "import sys; sys.modules['grpc'] = None; import inferflow; inferflow.connect('h:1')"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "MissingExtra: inferflow.connect needs: pip install 'inferflow[serve]'" in done.stderr
