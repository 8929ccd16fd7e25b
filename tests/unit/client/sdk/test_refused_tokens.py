"""A worker that refuses session tokens while the manager gives them: its own trouble. A key that
the manager refuses: the caller's, told at once."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from inferflow._proto.pool import message_class
from inferflow.client.sdk.aio import AsyncFleetClient
from inferflow.client.sdk.relay import FleetRelay
from inferflow.errors import ModelUnavailable, Unauthenticated, Unreachable

from .fleet_parts import FleetParts, X, Y, fleet, refusing

CODES = grpc.StatusCode
REFUSES = refusing(CODES.UNAUTHENTICATED, "the session token has expired or is not valid yet")
Metadata = message_class("inference.ModelMetadataRequest")

pytestmark = pytest.mark.scenario("J3")


@pytest.fixture
def one_wrong() -> Iterator[FleetParts]:
    """Two workers, of which the first has a wrong clock."""
    with fleet() as parts:
        parts.workers[0].infer = REFUSES
        yield parts


def test_a_worker_that_refuses_a_fresh_token_fails_no_call(one_wrong: FleetParts) -> None:
    assert one_wrong.infer(times=5) == [Y] * 5
    assert one_wrong.counts == [2, 5]  # with the first token and with a fresh one, then no more
    assert one_wrong.pauses.taken == []


def test_such_a_worker_is_suspect_for_a_while_and_the_manager_hears_of_it(
    one_wrong: FleetParts,
) -> None:
    async def use(client: AsyncFleetClient) -> None:
        while len(one_wrong.manager.asked) < 3:
            await client.infer("twice", {"x": X})
        assert list(one_wrong.manager.asked[2].avoid) == ["w1"]
        one_wrong.workers[0].infer = None
        asked = one_wrong.counts[0]
        one_wrong.clock.advance(2)
        for _ in range(2):
            await asyncio.gather(*(client.infer("twice", {"x": X}) for _ in range(4)))
        assert one_wrong.counts[0] > asked

    one_wrong.run(use)


def test_workers_that_were_not_named_at_first_are_asked_for_before_the_call_fails() -> None:
    with fleet(4) as parts:
        parts.manager.most_named = 2
        for worker in parts.workers[:2]:
            worker.infer = REFUSES
        assert parts.infer() == [Y]
        assert parts.counts == [2, 1, 1, 0]
        assert parts.pauses.taken == []


def test_when_every_worker_refuses_the_call_fails_without_pauses() -> None:
    with fleet(3) as parts:
        for worker in parts.workers:
            worker.infer = REFUSES
        with pytest.raises(Unauthenticated, match="not valid yet"):
            parts.infer()
        assert parts.counts == [2, 1, 1]
        assert parts.pauses.taken == []


def test_a_key_that_is_revoked_meanwhile_fails_with_the_managers_words_at_once(
    one_wrong: FleetParts,
) -> None:
    one_wrong.workers[0].infer = None

    async def use(client: AsyncFleetClient) -> None:
        await client.infer("twice", {"x": X})
        before = sum(one_wrong.counts)
        one_wrong.manager.refusal = (CODES.UNAUTHENTICATED, "this API key was revoked")
        for worker in one_wrong.workers:
            worker.infer = refusing(CODES.UNAUTHENTICATED, "the API key of the token is revoked")
        with pytest.raises(Unauthenticated, match="this API key was revoked"):
            await client.infer("twice", {"x": X})
        assert sum(one_wrong.counts) == before + 1

    one_wrong.run(use)
    assert one_wrong.pauses.taken == []


def test_while_managers_are_away_the_token_is_shown_to_the_other_workers(
    one_wrong: FleetParts,
) -> None:
    one_wrong.workers[0].infer = None

    async def use(client: AsyncFleetClient) -> Any:
        await client.infer("twice", {"x": X})
        one_wrong.manager.refusal = (CODES.UNAVAILABLE, "away")
        one_wrong.workers[0].infer = REFUSES
        answer = await client.infer("twice", {"x": X})
        one_wrong.workers[1].infer = REFUSES
        with pytest.raises(ModelUnavailable, match="away"):
            await client.infer("twice", {"x": X})
        return answer["y"].tolist()

    assert one_wrong.run(use) == Y


def test_it_is_the_other_failure_that_is_told_when_only_some_refuse(one_wrong: FleetParts) -> None:
    one_wrong.workers[1].infer = refusing(CODES.UNAVAILABLE, "out of order")
    with pytest.raises(Unreachable, match="out of order"):
        one_wrong.infer()


def test_a_stream_goes_to_a_worker_that_takes_its_token(one_wrong: FleetParts) -> None:
    async def use(client: AsyncFleetClient) -> list[Any]:
        answers = client.stream("twice", [{"x": X}] * 3)
        return [each["y"].tolist() async for each in answers]

    assert one_wrong.run(use) == [Y] * 3


def test_what_is_asked_about_a_model_goes_to_another_worker_too(one_wrong: FleetParts) -> None:
    one_wrong.workers[0].metadata_code = CODES.UNAUTHENTICATED

    async def main() -> Any:
        relay = FleetRelay(one_wrong.manager.address)
        try:
            request = Metadata(name="twice")
            return await relay.ask("ModelMetadata", request, headers=(), deadline_ms=5_000)
        finally:
            await relay.close()

    assert asyncio.run(main()).name == "twice"
