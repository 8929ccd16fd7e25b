"""Every call of a manager has a rule who may make it, and the rule is kept."""

from __future__ import annotations

import asyncio
import random
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

from inferflow._proto.pool import message_class, private_pool
from inferflow.access import OPERATOR, KeyCard, ModelPatterns, Permission
from inferflow.api.manager.rules import SERVICES
from inferflow.api.rules import RULES, rule_of
from inferflow.app.manager import Manager, guard_manager, start_manager
from inferflow.app.manager_settings import ManagerSettings
from inferflow.app.settings import Settings
from inferflow.errors import EngineFault
from inferflow.serving.manager.keys import KeyOrder
from inferflow.serving.manager.services import open_services

from ....robustness.scenario import StartScenario

OURS = {path: needs for path, needs in RULES.items() if path.split("/")[1] in SERVICES}


def calls() -> dict[str, Any]:
    """Every RPC the proto declares, by its path."""
    found = {}
    for service in SERVICES:
        for method in private_pool().FindServiceByName(service).methods:
            found[f"/{service}/{method.name}"] = method
    return found


def test_every_call_of_the_proto_has_a_rule_and_no_rule_is_left_over() -> None:
    assert set(OURS) == set(calls())
    assert all(OURS.values())


def test_a_call_without_a_rule_is_refused_to_everybody() -> None:
    with pytest.raises(EngineFault, match="has no rule"):
        rule_of("/inferflow.serving.v1.Registry/Invented")


@asynccontextmanager
async def running(folder: Path, **settings: Any) -> AsyncIterator[tuple[Manager, Any]]:
    services = await open_services(folder / "db", folder / "files", bytes(32), time.time)
    chosen = Settings(manager=ManagerSettings(port=0, http_port=0, **settings))
    manager = await start_manager(services, chosen.manager, guard_manager(services, chosen))
    channel = grpc.aio.insecure_channel(f"127.0.0.1:{manager.grpc.port}")
    try:
        yield manager, channel
    finally:
        await channel.close()
        await manager.close()


async def code_of(channel: Any, path: str, body: bytes, key: str | None) -> str:
    """How a call ends."""
    metadata = () if key is None else (("authorization", f"Bearer {key}"),)
    method = calls()[path]
    facts = {"metadata": metadata, "timeout": 20}
    try:
        if method.client_streaming:
            await channel.stream_unary(path)(iter([body]), **facts)
        elif method.server_streaming:
            async for _ in channel.unary_stream(path)(body, **facts):
                pass
        else:
            await channel.unary_unary(path)(body, **facts)
    except grpc.aio.AioRpcError as failed:
        return str(failed.code().name)
    return "OK"


def run(work: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(work())  # type: ignore[arg-type]


def test_the_whole_matrix_of_permissions_and_calls_is_kept(
    tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("G7", "every call of a manager with every permission")

    async def work() -> None:
        async with running(tmp_path) as (manager, channel):
            keys = {}
            for permission in Permission:
                order = KeyOrder(permission.value, [permission.value])
                keys[permission] = (await manager.services.keys.create(OPERATOR, order)).text
            for path, enough in OURS.items():
                for permission, key in keys.items():
                    code = await code_of(channel, path, b"", key)
                    denied = code == "PERMISSION_DENIED"
                    is_right = denied is (permission not in enough)
                    tried.holds("as the rules say", "allowed or denied", is_right)
                    assert code not in ("INTERNAL", "UNKNOWN"), (path, code)

    run(work)


def test_nobody_is_let_in_without_a_key_before_anything_is_read(
    tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("G1", "no key, an empty and a wrong one, to every call of a manager")

    async def work() -> None:
        async with running(tmp_path) as (manager, channel):
            key = (await manager.services.keys.create_first()).text  # type: ignore[union-attr]
            wrong = key[:-1] + ("A" if key[-1] != "A" else "B")
            for path in OURS:
                for shown in (None, "", "ifk_x", wrong):
                    code = await code_of(channel, path, b"\xff\xff", shown)
                    is_refused = code in ("UNAUTHENTICATED", "RESOURCE_EXHAUSTED")
                    tried.holds("refused before the body is read", code, is_refused)
            page = manager.tally.render().decode()
            assert 'outcome="caller"' in page

    run(work)


def test_bytes_that_are_no_message_are_the_callers_fault(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(tmp_path, auth="off") as (_, channel):
            for path in OURS:
                assert await code_of(channel, path, b"\xff\xff", None) == "INVALID_ARGUMENT", path

    run(work)


def test_somebody_who_tries_keys_is_slowed_down(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(tmp_path) as (_, channel):
            path = "/inferflow.serving.v1.Registry/ListModels"
            codes = [
                await code_of(channel, path, b"", f"ifk_{n:012x}_" + "a" * 43) for n in range(60)
            ]
            assert codes[0] == "UNAUTHENTICATED"
            assert codes[-1] == "RESOURCE_EXHAUSTED"

    run(work)


def test_random_bytes_never_break_a_call(tmp_path: Path, scenario: StartScenario) -> None:
    tried = scenario("F1", "random bytes to every call of a manager")

    async def work() -> None:
        async with running(tmp_path, auth="off") as (_, channel):
            dice = random.Random(7)
            for path, method in calls().items():
                message = message_class(method.input_type.full_name)
                for _ in range(20):
                    body = dice.randbytes(dice.randrange(60))
                    code = await code_of(channel, path, body, None)
                    tried.none("answer that is our fault", {code} & {"INTERNAL", "UNKNOWN"})
                assert await code_of(channel, path, message().SerializeToString(), None) not in (
                    "INTERNAL",
                    "UNKNOWN",
                )

    run(work)


def test_no_answer_holds_what_proves_a_key(tmp_path: Path) -> None:
    async def work() -> None:
        async with running(tmp_path) as (manager, channel):
            created = await manager.services.keys.create_first()
            assert created is not None
            stub = channel.unary_unary("/inferflow.serving.v1.Registry/ListKeys")
            body = await stub(b"", metadata=(("authorization", f"Bearer {created.text}"),))
            assert created.card.key_id.encode() in body
            assert created.text.split("_", 2)[2].encode() not in body

    run(work)


def test_a_narrow_card_is_told_which_permission_it_lacks() -> None:
    card = KeyCard("k1", "n", frozenset({Permission.INFERENCE}), ModelPatterns(), 0)
    with pytest.raises(Exception, match=re.escape("lacks the permission 'admin'")):
        card.require(rule_of("/inferflow.serving.v1.Registry/CreateKey"))
