"""Calls passed on to workers and fleets that nobody answers for, and what is remembered of them."""

from __future__ import annotations

import asyncio

import pytest

from inferflow._proto.pool import message_class
from inferflow.client.aio import AsyncClient, ClientOptions
from inferflow.client.oip.relay import Relay
from inferflow.client.sdk.relay import FleetRelay
from inferflow.errors import InvalidRequest, ModelUnavailable, Unreachable

NOBODY = "127.0.0.1:9"
Metadata = message_class("inference.ModelMetadataRequest")
Index = message_class("inference.RepositoryIndexRequest")


def shown(key: str) -> tuple[tuple[str, str], ...]:
    return (("authorization", f"Bearer {key}"),)


def test_a_worker_that_is_away_is_unreachable() -> None:
    async def main() -> None:
        relay = Relay(NOBODY)
        try:
            with pytest.raises(Unreachable):
                await relay.infer("m", "1", b"", headers=(), deadline_ms=5_000)
            with pytest.raises(Unreachable):
                await relay.ask("ModelMetadata", Metadata(name="m"), headers=(), deadline_ms=5_000)
        finally:
            await relay.close()

    asyncio.run(main())


def test_every_key_has_sessions_of_its_own_and_only_some_are_remembered() -> None:
    async def main() -> list[int]:
        relay, remembered = FleetRelay(NOBODY, most_keys=2), []
        try:
            for key in ("a", "b", "c", "c", "d"):
                with pytest.raises(ModelUnavailable):
                    await relay.infer("m", "", b"", headers=shown(key), deadline_ms=5_000)
                remembered.append(len(relay))
        finally:
            await relay.close()
        return remembered

    assert asyncio.run(main()) == [1, 2, 2, 2, 2]


def test_with_a_key_of_its_own_a_relay_asks_for_everybody_alike() -> None:
    async def main() -> int:
        relay = FleetRelay(NOBODY, key="own")
        try:
            for key in ("a", "b"):
                with pytest.raises(ModelUnavailable):
                    await relay.infer("m", "", b"", headers=shown(key), deadline_ms=5_000)
            return len(relay)
        finally:
            await relay.close()

    assert asyncio.run(main()) == 1


def test_what_models_there_are_is_asked_of_the_manager() -> None:
    async def main() -> None:
        relay = FleetRelay(NOBODY)
        with pytest.raises(Unreachable, match=NOBODY):
            await relay.ask("RepositoryIndex", Index(), headers=(), deadline_ms=1_000)
        await relay.close()

    asyncio.run(main())


@pytest.mark.parametrize("method", ["RepositoryModelLoad", "RepositoryModelUnload"])
def test_where_models_are_loaded_is_not_left_to_callers(method: str) -> None:
    async def main() -> None:
        relay = FleetRelay(NOBODY)
        with pytest.raises(InvalidRequest, match="promote"):
            await relay.ask(method, Metadata(name="m"), headers=(), deadline_ms=1_000)
        await relay.close()

    asyncio.run(main())


def test_a_server_that_is_away_does_not_serve() -> None:
    async def main() -> bool:
        async with AsyncClient(NOBODY, ClientOptions(1_000, 1)) as client:
            return await client.is_serving()

    assert asyncio.run(main()) is False
