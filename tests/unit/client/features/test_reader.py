"""Calls to a feature service: shared, limited, and inside their deadline."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import grpc
import pytest

from inferflow.client.features.reader import (
    FeatureLine,
    FeatureOptions,
    RemoteFeatures,
    caller_headers,
)
from inferflow.client.oip.line import LineOptions
from inferflow.engine.deadline import Deadline
from inferflow.errors import DeadlinePassed, StoreFailed, StoreUnreachable

from ....robustness.scenario import StartScenario
from .parts import embedded, plain, served
from .test_answer import READ, STORE, Result

Query = Callable[[bytes, Any], Awaitable[bytes]]


class Service:
    """Answers as ours does, when it is let to; remembers who asked for what."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.headers: list[dict[str, str]] = []
        self.gate = asyncio.Event()
        self.gate.set()
        self.refusals: list[tuple[grpc.StatusCode, str]] = []
        self.under_way = self.most = self.cancelled = 0

    async def answer(self, body: bytes, context: Any) -> bytes:
        answer = served(STORE, body)
        self.asked.append([row.keys[0] for row in Result.FromString(answer).rows])
        self.headers.append(dict(context.invocation_metadata()))
        self.under_way += 1
        self.most = max(self.most, self.under_way)
        try:
            await self.gate.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.under_way -= 1
        if self.refusals:
            await context.abort(*self.refusals.pop(0))
        return answer


@asynccontextmanager
async def line_to(service: Service, **options: Any) -> AsyncIterator[FeatureLine]:
    server = grpc.aio.server()
    methods = {"RetrieveFeatures": grpc.unary_unary_rpc_method_handler(service.answer)}
    server.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("retrieve.FeatureService", methods),)
    )
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    headers = caller_headers("tests", "secret")
    line = FeatureLine(f"127.0.0.1:{port}", FeatureOptions(LineOptions(headers=headers), **options))
    try:
        yield line
    finally:
        line.close()
        await server.stop(None)


def soon(milliseconds: float = 10_000) -> Deadline:
    return Deadline(milliseconds)


async def until(check: Callable[[], bool]) -> None:
    while not check():
        await asyncio.sleep(0)


def test_a_read_is_one_call_that_says_who_asks() -> None:
    async def run() -> None:
        service = Service()
        async with line_to(service) as line:
            read = RemoteFeatures(line, STORE.schema).prepare(READ)
            found = await read.fetch((["1", "never"],), deadline=soon())
            assert plain(found) == plain(embedded(STORE, READ, ["1", "never"]))
            assert service.asked == [["1", "never"]]
            (sent,) = service.headers
            assert sent["online-feature-store-caller-id"] == "tests"
            assert sent["online-feature-store-auth-token"] == "secret"
            assert "x-inferflow-presence" in sent

    asyncio.run(run())


def test_a_key_that_is_being_asked_for_is_not_asked_for_again() -> None:
    async def run() -> None:
        service = Service()
        service.gate.clear()
        async with line_to(service) as line:
            read = RemoteFeatures(line, STORE.schema).prepare(READ)
            wanted = [["1", "2"], ["2", "old", "1"], ["1"], ["never"]]
            tasks = [asyncio.ensure_future(read.fetch((keys,), deadline=soon())) for keys in wanted]
            await until(lambda: len(service.asked) == 3)
            service.gate.set()
            found = await asyncio.gather(*tasks)
            assert sorted(service.asked) == [["1", "2"], ["never"], ["old"]]
            for keys, rows in zip(wanted, found, strict=True):
                assert plain(rows) == plain(embedded(STORE, READ, keys))
            await read.fetch((["1"],), deadline=soon())
            assert service.asked[-1] == ["1"]

    asyncio.run(run())


def test_whoever_leaves_does_not_take_the_answer_from_others() -> None:
    async def run() -> None:
        service = Service()
        service.gate.clear()
        async with line_to(service) as line:
            read = RemoteFeatures(line, STORE.schema).prepare(READ)
            first = asyncio.ensure_future(read.fetch((["1"],), deadline=soon()))
            await until(lambda: service.under_way == 1)
            second = asyncio.ensure_future(read.fetch((["1"],), deadline=soon()))
            await asyncio.sleep(0)
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)
            service.gate.set()
            assert plain(await second) == plain(embedded(STORE, READ, ["1"]))
            assert service.asked == [["1"]]

    asyncio.run(run())


def test_a_call_nobody_waits_for_is_cancelled_there_too(scenario: StartScenario) -> None:
    tried = scenario("D9", "a request is given up while a feature store is asked")

    async def run() -> None:
        service = Service()
        service.gate.clear()
        async with line_to(service) as line:
            read = RemoteFeatures(line, STORE.schema).prepare(READ)
            task = asyncio.ensure_future(read.fetch((["1"],), deadline=soon()))
            await until(lambda: service.under_way == 1)
            with tried.timed("the store sees it", 0.05):
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                await until(lambda: service.cancelled == 1)

    asyncio.run(run())


def test_who_has_more_time_asks_again_when_the_shared_call_was_too_late() -> None:
    async def run() -> None:
        service = Service()
        service.gate.clear()
        async with line_to(service) as line:
            read = RemoteFeatures(line, STORE.schema).prepare(READ)
            hasty = asyncio.ensure_future(read.fetch((["1"],), deadline=soon(100)))
            await until(lambda: service.under_way == 1)
            patient = asyncio.ensure_future(read.fetch((["1"],), deadline=soon()))
            with pytest.raises(DeadlinePassed):
                await hasty
            service.gate.set()
            assert plain(await patient) == plain(embedded(STORE, READ, ["1"]))

    asyncio.run(run())


def test_no_more_calls_are_under_way_than_allowed_and_waiting_counts_as_time() -> None:
    async def run() -> None:
        service = Service()
        service.gate.clear()
        async with line_to(service, max_calls=2) as line:
            read = RemoteFeatures(line, STORE.schema).prepare(READ)
            tasks = [
                asyncio.ensure_future(read.fetch(([str(key)],), deadline=soon()))
                for key in range(5)
            ]
            await until(lambda: service.under_way == 2)
            with pytest.raises(DeadlinePassed):
                await read.fetch((["late"],), deadline=soon(50))
            service.gate.set()
            await asyncio.gather(*tasks)
            assert service.most == 2
            assert ["late"] not in service.asked

    asyncio.run(run())


def test_a_service_that_is_away_is_asked_again_inside_the_deadline() -> None:
    async def run() -> None:
        service = Service()
        service.refusals = [(grpc.StatusCode.UNAVAILABLE, "starting")] * 2
        async with line_to(service) as line:
            read = RemoteFeatures(line, STORE.schema).prepare(READ)
            found = await read.fetch((["1"],), deadline=soon())
            assert plain(found) == plain(embedded(STORE, READ, ["1"]))
            assert len(service.asked) == 3

    asyncio.run(run())


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (grpc.StatusCode.UNAVAILABLE, StoreUnreachable),
        (grpc.StatusCode.UNKNOWN, StoreFailed),
        (grpc.StatusCode.UNAUTHENTICATED, StoreFailed),
        (grpc.StatusCode.NOT_FOUND, StoreFailed),
    ],
)
def test_refusals_are_failures_of_the_store_that_say_who_said_what(
    code: grpc.StatusCode, error: type[StoreFailed]
) -> None:
    async def run() -> None:
        service = Service()
        service.refusals = [(code, "why not")] * 5
        async with line_to(service) as line:
            read = RemoteFeatures(line, STORE.schema).prepare(READ)
            with pytest.raises(error, match=r"features of 'item'.*why not"):
                await read.fetch((["1"],), deadline=soon())

    asyncio.run(run())


def test_one_that_does_not_answer_costs_no_more_than_the_deadline() -> None:
    async def run() -> None:
        service = Service()
        service.gate.clear()
        async with line_to(service) as line:
            read = RemoteFeatures(line, STORE.schema).prepare(READ)
            with pytest.raises(DeadlinePassed):
                await read.fetch((["1"],), deadline=soon(100))
            line.options = FeatureOptions(default_deadline_ms=100)
            with pytest.raises(DeadlinePassed):
                await read.fetch((["1"],), deadline=Deadline(None))

    asyncio.run(run())
