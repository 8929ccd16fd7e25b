"""Many requests over one connection, and over the next when that one breaks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import grpc
import numpy as np
import pytest

from inferflow.client.sdk.aio import AsyncFleetClient
from inferflow.client.sdk.sync import FleetClient, open_fleet_client
from inferflow.errors import (
    DeadlinePassed,
    InferflowError,
    InvalidInput,
    InvalidRequest,
    ModelFailed,
    Unreachable,
)

from ....servers.open_inference import InferRequest, InferResponse, StreamResponse, answered
from .fleet_parts import FleetParts, fleet

CODES = grpc.StatusCode


@pytest.fixture
def two() -> Iterator[FleetParts]:
    with fleet() as parts:
        yield parts


def numbers(count: int) -> list[dict[str, Any]]:
    return [{"x": np.array([[n]], np.float32)} for n in range(count)]


def streamed(parts: FleetParts, inputs: Any, **more: Any) -> list[float]:
    async def use(client: AsyncFleetClient) -> list[float]:
        return [float(answer["y"][0, 0]) async for answer in client.stream("twice", inputs, **more)]

    answers: list[float] = parts.run(use)
    return answers


@pytest.mark.parametrize("ahead", [1, 3, 100])
def test_answers_come_in_the_order_of_their_inputs(two: FleetParts, ahead: int) -> None:
    assert streamed(two, numbers(10), ahead=ahead) == [2.0 * n for n in range(10)]
    assert two.counts == [10, 0]
    assert two.workers[0].requests[0].model_version == "1"


def test_a_stream_of_nothing_asks_for_nothing(two: FleetParts) -> None:
    assert streamed(two, []) == []
    assert two.counts == [0, 0]


def test_inputs_may_come_when_they_please(two: FleetParts) -> None:
    async def use(client: AsyncFleetClient) -> list[float]:
        given: asyncio.Queue[Any] = asyncio.Queue()

        async def inputs() -> AsyncIterator[Any]:
            while (each := await given.get()) is not None:
                yield each

        answers = client.stream("twice", inputs(), deadline_ms=5_000)
        found = []
        for each in numbers(3):
            given.put_nowait(each)
            found.append(float((await anext(answers))["y"][0, 0]))
        given.put_nowait(None)
        with pytest.raises(StopAsyncIteration):
            await anext(answers)
        return found

    assert two.run(use) == [0.0, 2.0, 4.0]


def test_what_a_broken_stream_did_not_answer_is_asked_of_the_next_worker(two: FleetParts) -> None:
    def breaks(bodies: Iterator[bytes], context: Any) -> Iterator[bytes]:
        for _ in range(3):
            request = InferRequest.FromString(next(bodies))
            answer = InferResponse.FromString(answered(request, two.workers[0].models["twice"]))
            yield StreamResponse(infer_response=answer).SerializeToString()
        next(bodies)
        context.abort(CODES.UNAVAILABLE, "killed")

    two.workers[0].stream = breaks
    assert streamed(two, numbers(8), ahead=4) == [2.0 * n for n in range(8)]
    assert two.counts == [0, 5]
    assert two.pauses.taken == []


def test_a_stream_ends_whose_worker_failed_after_the_last_input(two: FleetParts) -> None:
    def breaks(bodies: Iterator[bytes], context: Any) -> Iterator[bytes]:
        for _ in bodies:
            pass
        context.abort(CODES.UNAVAILABLE, "killed")
        yield b""

    two.workers[0].stream = breaks
    assert streamed(two, numbers(3), ahead=8) == [0.0, 2.0, 4.0]


def test_a_stream_with_no_worker_left_says_so() -> None:
    with fleet(0, dead=("a", "b")) as parts, pytest.raises(Unreachable) as failed:
        streamed(parts, numbers(2))
    assert failed.value.attempts == 6


def test_a_stream_outlives_its_token() -> None:
    with fleet(1) as parts:
        parts.manager.lives_s = 20

        async def use(client: AsyncFleetClient) -> list[float]:
            async def inputs() -> AsyncIterator[Any]:
                for each in numbers(6):
                    yield each
                    parts.clock.advance(8)

            return [
                float(answer["y"][0, 0])
                async for answer in client.stream("twice", inputs(), ahead=1)
            ]

        assert parts.run(use) == [2.0 * n for n in range(6)]
        tokens = [headers["authorization"] for headers in parts.workers[0].headers]
        assert len(set(tokens)) >= 3
        assert parts.counts == [6]


def test_an_input_that_is_none_fails_after_the_answers_before_it(two: FleetParts) -> None:
    found: list[float] = []

    async def use(client: AsyncFleetClient) -> None:
        found.extend(
            [float(answer["y"][0, 0]) async for answer in client.stream("twice", [*numbers(2), {}])]
        )

    with pytest.raises(InvalidRequest, match="inputs"):
        two.run(use)
    assert two.counts == [2, 0]


def test_an_item_that_fails_ends_the_stream_with_what_the_worker_said(two: FleetParts) -> None:
    def wrong(bodies: Iterator[bytes], context: Any) -> Iterator[bytes]:
        for _ in bodies:
            yield StreamResponse(error_message="x: expected [-1, 1]").SerializeToString()

    two.workers[0].stream = wrong
    with pytest.raises(ModelFailed, match=r"expected \[-1, 1\]"):
        streamed(two, numbers(2))


def test_an_answer_that_does_not_come_in_time_ends_the_stream(two: FleetParts) -> None:
    def silent(bodies: Iterator[bytes], context: Any) -> Iterator[bytes]:
        yield from (b"" for body in bodies if not body)

    two.workers[0].stream = silent

    async def use(client: AsyncFleetClient) -> None:
        async def endless() -> AsyncIterator[Any]:
            yield numbers(1)[0]
            await asyncio.Event().wait()

        async for _ in client.stream("twice", endless(), deadline_ms=50):
            raise AssertionError("there is no answer")

    with pytest.raises(DeadlinePassed):
        two.run(use)


@pytest.mark.parametrize("ahead", [0, -1])
def test_at_least_one_request_is_under_way(two: FleetParts, ahead: int) -> None:
    with pytest.raises(InvalidRequest, match="ahead"):
        streamed(two, numbers(1), ahead=ahead)


# --- without an event loop ------------------------------------------------------------------------


@pytest.fixture
def client(two: FleetParts) -> Iterator[FleetClient]:
    with open_fleet_client(two.manager.address, key="k", deadline_ms=5_000) as opened:
        yield opened


def test_the_same_calls_are_there_for_threads(client: FleetClient) -> None:
    assert client.infer("twice", numbers(2)[1])["y"].tolist() == [[2.0]]
    inputs = (each for each in numbers(20))
    answers = [float(a["y"][0, 0]) for a in client.stream("twice", inputs, ahead=4)]
    assert answers == [2.0 * n for n in range(20)]


def test_a_stream_may_be_left_early(client: FleetClient) -> None:
    for answer in client.stream("twice", numbers(50)):
        assert answer["y"].tolist() == [[0.0]]
        break
    assert client.infer("twice", numbers(2)[1])["y"].tolist() == [[2.0]]


def test_a_source_that_fails_is_the_callers_own_error(client: FleetClient) -> None:
    def inputs() -> Iterator[Any]:
        yield numbers(1)[0]
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        list(client.stream("twice", inputs()))


def test_a_closed_client_is_closed(two: FleetParts) -> None:
    client = open_fleet_client(two.manager.address, key="k", deadline_ms=5_000)
    client.close()
    client.close()
    calls: list[Any] = [
        lambda: client.infer("twice", numbers(1)[0]),
        lambda: list(client.stream("twice", numbers(1))),
    ]
    for call in calls:
        with pytest.raises(InvalidInput, match="closed"):
            call()


def test_a_client_that_cannot_be_made_leaves_nothing_behind() -> None:
    with pytest.raises(InferflowError):
        open_fleet_client("nowhere", key="k", deadline_ms=None)
    with pytest.raises(InvalidInput, match="key"):
        open_fleet_client("127.0.0.1:1", key="naïve", deadline_ms=None)
