"""Keys of a fleet that other servers accept: asked for, remembered for a moment, and for longer
while no manager answers."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import grpc
import pytest

from inferflow._proto.pool import message_class
from inferflow.client.manager.key_check import ALONE_S, ManagerKeys
from inferflow.errors import RegistryBusy, Unauthenticated
from inferflow.rpc.server import start_server

Request = message_class("inferflow.serving.v1.CheckKeyRequest")
Response = message_class("inferflow.serving.v1.CheckKeyResponse")


class Manager:
    """Knows one key, and counts how often it is asked."""

    def __init__(self) -> None:
        self.known = {"ifk_good"}
        self.asked = 0
        self.is_away = False

    async def check(self, body: bytes, context: Any) -> bytes:
        self.asked += 1
        if self.is_away:
            await context.abort(grpc.StatusCode.UNAVAILABLE, "leaving")
        answer = Response()
        if Request.FromString(body).key in self.known:
            answer.key.key_id, answer.key.name = "k1", "shop"
            answer.key.permissions.extend(["inference", "from-the-future"])
            answer.key.requests_per_second, answer.key.burst = 5.0, 7
            answer.key.expires_ms = 50_000
        written: bytes = answer.SerializeToString()
        return written


class Clock:
    now = 10.0

    def __call__(self) -> float:
        return self.now


def with_manager(use: Callable[[Manager, ManagerKeys, Clock], Awaitable[None]]) -> None:
    async def run() -> None:
        manager, clock = Manager(), Clock()
        methods: Any = {"CheckKey": grpc.unary_unary_rpc_method_handler(manager.check)}
        service = "inferflow.serving.v1.Registry"
        handlers = [grpc.method_handlers_generic_handler(service, methods)]
        server = await start_server(handlers, services=(service,))
        keys = ManagerKeys(
            [f"127.0.0.1:{server.port}"], "ifk_own", clock=clock, wall=lambda: clock.now
        )
        try:
            await use(manager, keys, clock)
        finally:
            await keys.close()
            await server.stop()

    asyncio.run(run())


def test_a_key_is_asked_for_once_a_second_or_so_and_not_per_call() -> None:
    async def use(manager: Manager, keys: ManagerKeys, clock: Clock) -> None:
        for _ in range(50):
            card = await keys.identify("ifk_good")
        assert manager.asked == 1
        assert (card.key_id, card.name) == ("k1", "shop")
        assert [each.value for each in card.permissions] == ["inference"]
        assert card.rate is not None
        clock.now += 1.5
        await keys.identify("ifk_good")  # answered at once, and asked again beside it
        await keys.settle()
        assert manager.asked == 2

    with_manager(use)


def test_a_revoked_key_ends_within_two_seconds() -> None:
    async def use(manager: Manager, keys: ManagerKeys, clock: Clock) -> None:
        await keys.identify("ifk_good")
        manager.known.clear()
        clock.now += 2.0
        with pytest.raises(Unauthenticated):
            await keys.identify("ifk_good")

    with_manager(use)


def test_what_was_found_beside_a_call_counts_for_the_next() -> None:
    async def use(manager: Manager, keys: ManagerKeys, clock: Clock) -> None:
        await keys.identify("ifk_good")
        manager.known.clear()
        clock.now += 1.2
        await keys.identify("ifk_good")
        await keys.settle()
        with pytest.raises(Unauthenticated):
            await keys.identify("ifk_good")

    with_manager(use)


def test_while_no_manager_answers_a_known_key_stays_good_for_a_while() -> None:
    async def use(manager: Manager, keys: ManagerKeys, clock: Clock) -> None:
        await keys.identify("ifk_good")
        manager.is_away = True
        clock.now += 5.0
        assert (await keys.identify("ifk_good")).name == "shop"
        with pytest.raises(RegistryBusy, match="no manager could say"):
            await keys.identify("ifk_other")
        clock.now += ALONE_S
        with pytest.raises((RegistryBusy, Unauthenticated)):
            await keys.identify("ifk_good")

    with_manager(use)


def test_an_expired_key_ends_when_it_expires_whoever_remembers_it() -> None:
    async def use(manager: Manager, keys: ManagerKeys, clock: Clock) -> None:
        await keys.identify("ifk_good")
        manager.is_away = True
        clock.now = 50.0
        with pytest.raises(Unauthenticated):
            await keys.identify("ifk_good")

    with_manager(use)


def test_nothing_that_is_remembered_is_a_key() -> None:
    async def use(manager: Manager, keys: ManagerKeys, clock: Clock) -> None:
        await keys.identify("ifk_good")
        assert "ifk_good" not in repr(vars(keys))

    with_manager(use)
