"""A call that a worker or a manager fails: where it goes next, and what it says at the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from inferflow.client.sdk.aio import AsyncFleetClient
from inferflow.errors import (
    DeadlinePassed,
    InferflowError,
    InvalidInput,
    InvalidRequest,
    ModelFailed,
    ModelUnavailable,
    NotFound,
    Overloaded,
    PermissionDenied,
    Unauthenticated,
    Unreachable,
)

from ....servers.open_inference import answered
from ..oip.remote_parts import unused_address
from .fleet_parts import FleetParts, X, Y, fleet, refusing

CODES = grpc.StatusCode


@pytest.fixture
def two() -> Iterator[FleetParts]:
    with fleet() as parts:
        yield parts


# --- fail-over ------------------------------------------------------------------------------------


def test_a_dead_worker_costs_a_call_no_pause_and_the_manager_hears_of_it() -> None:
    with fleet(2, dead=("gone",)) as parts:

        async def use(client: AsyncFleetClient) -> None:
            while len(parts.manager.asked) < 2:
                answer = await client.infer("twice", {"x": X})
                assert answer["y"].tolist() == Y

        parts.run(use)
        assert parts.pauses.taken == []
        assert list(parts.manager.asked[1].avoid) == ["gone"]


def test_when_all_fail_the_call_says_who_was_asked_and_how_often(two: FleetParts) -> None:
    for worker in two.workers:
        worker.infer = refusing(CODES.UNAVAILABLE, "out of order")
    with pytest.raises(Unreachable, match="out of order") as failed:
        two.infer()
    assert failed.value.attempts == 6
    assert all(worker.address in failed.value.addresses for worker in two.workers)
    assert two.pauses.taken == [0.025]


def test_new_workers_are_asked_for_when_all_named_ones_fail() -> None:
    with fleet(1, dead=("a", "b")) as parts:
        living = parts.manager.workers.pop("w1")

        async def use(client: AsyncFleetClient) -> Any:
            call = asyncio.ensure_future(client.infer("twice", {"x": X}))
            while not parts.manager.asked:
                await asyncio.sleep(0)
            parts.manager.workers["w1"] = living
            return (await call)["y"].tolist()

        assert parts.run(use) == Y
        assert set(parts.manager.asked[1].avoid) == {"a", "b"}


def test_a_full_worker_sends_the_call_to_another(two: FleetParts) -> None:
    hint = (("retry-after-ms", "20"),)
    two.workers[0].infer = refusing(CODES.RESOURCE_EXHAUSTED, "full", trailing=hint)
    assert two.infer(times=2) == [Y, Y]
    two.workers[1].infer = refusing(CODES.RESOURCE_EXHAUSTED, "full", trailing=hint)
    with pytest.raises(Overloaded) as failed:
        two.infer()
    assert failed.value.retry_after_ms == 20


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (CODES.INVALID_ARGUMENT, InvalidRequest),
        (CODES.PERMISSION_DENIED, PermissionDenied),
        (CODES.INTERNAL, ModelFailed),
        (CODES.UNIMPLEMENTED, ModelFailed),
        (CODES.RESOURCE_EXHAUSTED, ModelFailed),
    ],
)
def test_what_would_fail_again_is_not_repeated(
    two: FleetParts, code: grpc.StatusCode, error: type[InferflowError]
) -> None:
    two.workers[0].infer = refusing(code, "x: wrong")
    with pytest.raises(error, match="wrong"):
        two.infer()
    assert sum(two.counts) == 1


def test_a_hung_worker_is_passed_over_after_two_calls(two: FleetParts) -> None:
    two.workers[0].infer = refusing(CODES.DEADLINE_EXCEEDED, "Deadline Exceeded")

    async def use(client: AsyncFleetClient) -> None:
        for _ in range(2):
            with pytest.raises(DeadlinePassed):
                await client.infer("twice", {"x": X})
        await client.infer("twice", {"x": X})

    two.run(use)
    assert two.counts == [2, 1]


def test_calls_under_way_are_spread_over_the_workers(two: FleetParts) -> None:
    async def use(client: AsyncFleetClient) -> None:
        await client.infer("twice", {"x": X})
        await asyncio.gather(*(client.infer("twice", {"x": X}) for _ in range(20)))

    two.run(use)
    assert two.counts == [11, 10]


def test_calls_with_an_affinity_stay_with_one_worker(two: FleetParts) -> None:
    async def use(client: AsyncFleetClient) -> None:
        calls = (client.infer("twice", {"x": X}, affinity="ann") for _ in range(20))
        await asyncio.gather(*calls)

    two.run(use)
    assert two.counts == [20, 0]


def test_repeating_is_bounded_by_a_budget_that_all_calls_share(two: FleetParts) -> None:
    for worker in two.workers:
        worker.infer = refusing(CODES.UNAVAILABLE)

    async def use(client: AsyncFleetClient) -> list[int]:
        attempts = []
        for _ in range(70):
            with pytest.raises(Unreachable) as failed:
                await client.infer("twice", {"x": X})
            attempts.append(failed.value.attempts)
        return attempts

    attempts = two.run(use)
    assert attempts[0] == 6
    assert attempts[-1] == 2  # each worker once, and no more


# --- managers -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "error"),
    [
        (CODES.NOT_FOUND, NotFound),
        (CODES.UNAUTHENTICATED, Unauthenticated),
        (CODES.PERMISSION_DENIED, PermissionDenied),
        (CODES.UNAVAILABLE, ModelUnavailable),
        (CODES.INVALID_ARGUMENT, InvalidRequest),
    ],
)
def test_what_the_manager_refuses_is_told_in_its_words(
    two: FleetParts, code: grpc.StatusCode, error: type[InferflowError]
) -> None:
    two.manager.refusal = (code, "stage: none such")
    with pytest.raises(error, match="none such"):
        two.infer()


def test_another_manager_is_asked_when_one_is_away_and_stays_the_first(two: FleetParts) -> None:
    dead = unused_address()

    async def use(client: AsyncFleetClient) -> None:
        await client.infer("twice", {"x": X})
        await client.infer("twice", {"x": X}, stage="staging")

    two.run(use, managers=[dead, two.manager.address])
    assert len(two.manager.asked) == 2
    with pytest.raises(ModelUnavailable, match=dead):
        two.run(use, managers=f"manager://{dead}")


@pytest.mark.parametrize("managers", ["", [], "a:1,,b:2", "nowhere"])
def test_managers_must_be_addresses(two: FleetParts, managers: Any) -> None:
    with pytest.raises(InvalidInput, match="host:port"):
        two.run(lambda client: client.infer("twice", {"x": X}), managers=managers)


# --- ending ---------------------------------------------------------------------------------------


def test_a_closed_client_says_so_also_to_calls_under_way(two: FleetParts) -> None:
    hold = threading.Event()

    def held(request: Any, context: Any) -> bytes:
        hold.wait(10)
        return answered(request, two.workers[0].models["twice"])

    two.workers[0].infer = held

    async def main() -> None:
        client = two.client()
        call = asyncio.ensure_future(client.infer("twice", {"x": X}))
        while not two.workers[0].requests:
            await asyncio.sleep(0)
        await client.close()
        hold.set()
        with pytest.raises(InvalidInput, match="closed during the call"):
            await call
        with pytest.raises(InvalidInput, match="closed"):
            await client.infer("twice", {"x": X})

    asyncio.run(main())
