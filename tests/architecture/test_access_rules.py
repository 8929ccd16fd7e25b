"""Every call of every role has a rule who may make it, and running servers keep the rules.

Servers say themselves which calls they have, so a new one without a rule is noticed here.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, closing
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2
from grpc_reflection.v1alpha import reflection_pb2, reflection_pb2_grpc

from inferflow._proto.pool import message_class, private_pool
from inferflow.access import OPERATOR, Permission
from inferflow.api.rules import RULES
from inferflow.app import serving
from inferflow.app.expression_files import expression_files
from inferflow.app.feature_store import start_feature_store
from inferflow.app.key_cards import create_key
from inferflow.app.live_expressions import LiveExpressions
from inferflow.app.live_store import LiveStore
from inferflow.app.manager import guard_manager, start_manager
from inferflow.app.numerix import start_numerix
from inferflow.app.role import open_role
from inferflow.app.scaffold import write_starter
from inferflow.app.security import open_security
from inferflow.app.settings import Settings, read_settings
from inferflow.app.worker import alone_security, open_host, start_worker
from inferflow.serving.manager.keys import KeyOrder
from inferflow.serving.manager.services import open_services
from inferflow.telemetry.compute_tally import ComputeTally
from inferflow.telemetry.feature_tally import FeatureTally
from inferflow.telemetry.worker_tally import WorkerTally

from ..robustness.scenario import StartScenario

Keys = dict[str, str]
Started = AsyncIterator[tuple[int, Keys]]
FREE = {"port": 0, "http_port": 0, "reflection": True}
REFRESH = "/inferflow.serving.v1.Discovery/Refresh"
"""Wants a session token to renew, beside the key."""
STANDARD = ("grpc.health.v1.Health", "grpc.reflection.v1alpha.ServerReflection")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write_starter(tmp_path / "starter")
    return tmp_path / "starter"


def settled(project: Path, *tables: str) -> tuple[Settings, Keys]:
    """Settings of servers on free ports, and a key for each permission."""
    file = project / "keys.json"
    keys = {may.value: create_key(file, may.value, [may.value])["secret"] for may in Permission}
    given: dict[str, Any] = dict.fromkeys(tables, FREE)
    return read_settings(project, {**given, "auth": {"keys_file": str(file)}}), keys


@asynccontextmanager
async def served(project: Path) -> Started:
    _, keys = settled(project, "serve")
    given = {"serve": FREE, "auth": {"keys_file": str(project / "keys.json")}}
    with open_role(project, given) as role:
        running = await serving.start(role.embedded, records=role.records)
        try:
            yield running.grpc.port, keys
        finally:
            await running.close()


@asynccontextmanager
async def worked(project: Path) -> Started:
    settings, keys = settled(project, "worker")
    tally = WorkerTally()
    host = open_host(project, settings, tally)
    security = alone_security(settings)
    running = await start_worker(host, settings.worker, tally, security=security)
    try:
        yield running.grpc.port, keys
    finally:
        await running.close()


@asynccontextmanager
async def computed(project: Path) -> Started:
    settings, keys = settled(project, "compute")
    with closing(expression_files(project, "")) as source:
        expressions = LiveExpressions(source, tell=lambda _: None)
        expressions.look()
        security = open_security(settings, auth="on")
        running = await start_numerix(expressions, settings.compute, ComputeTally(), security)
        try:
            yield running.grpc.port, keys
        finally:
            await running.close()


@asynccontextmanager
async def featured(project: Path) -> Started:
    settings, keys = settled(project, "feature_store")
    with closing(LiveStore(project, settings)) as store:
        running = await start_feature_store(project, store, settings, FeatureTally())
        try:
            yield running.grpc.port, keys
        finally:
            await running.close()


@asynccontextmanager
async def managed(project: Path) -> Started:
    settings, _ = settled(project, "manager")
    services = await open_services(project / "db", project / "files", bytes(32), time.time)
    keys = {
        may.value: (await services.keys.create(OPERATOR, KeyOrder(may.value, [may.value]))).text
        for may in Permission
    }
    security = guard_manager(services, settings)
    running = await start_manager(services, settings.manager, security)
    try:
        yield running.grpc.port, keys
    finally:
        await running.close()


ROLES: dict[str, Callable[[Path], Any]] = {
    "serve": served,
    "worker": worked,
    "numerix": computed,
    "feature-store": featured,
    "manager": managed,
}


# --- what there is ----------------------------------------------------------------------------


def declared(service: str) -> Any:
    if service == STANDARD[0]:
        return health_pb2.DESCRIPTOR.services_by_name["Health"]
    if service == STANDARD[1]:
        return reflection_pb2.DESCRIPTOR.services_by_name["ServerReflection"]
    return private_pool().FindServiceByName(service)


async def services_of(channel: grpc.aio.Channel) -> list[str]:
    """What a server says it has."""
    stub: Any = reflection_pb2_grpc.ServerReflectionStub(channel)  # type: ignore[no-untyped-call]
    asked = reflection_pb2.ServerReflectionRequest(list_services="")
    async for answer in stub.ServerReflectionInfo(iter([asked])):
        return [each.name for each in answer.list_services_response.service]
    raise AssertionError("no answer")


def smallest(method: Any) -> bytes:
    """A request that names a model where it can: one that names none is about all of them."""
    message = message_class(method.input_type.full_name)()
    for name in ("name", "model_name"):
        if name in method.input_type.fields_by_name:
            setattr(message, name, "like_model")
    body: bytes = message.SerializeToString()
    return body


async def code_of(channel: Any, path: str, method: Any, key: str) -> str:
    """How a call ends."""
    facts: Any = {"metadata": (("authorization", f"Bearer {key}"),) if key else (), "timeout": 20}
    body = smallest(method)
    asked: Any = iter([body]) if method.client_streaming else body
    kind = f"{_arity(method.client_streaming)}_{_arity(method.server_streaming)}"
    call = getattr(channel, kind)(path)(asked, **facts)
    try:
        if method.server_streaming:
            async for _ in call:
                pass
        else:
            await call
    except grpc.aio.AioRpcError as failed:
        return str(failed.code().name)
    return "OK"


def _arity(streams: bool) -> str:
    return "stream" if streams else "unary"


async def over(role: str, project: Path, use: Callable[[Any, Keys], Awaitable[None]]) -> None:
    async with AsyncExitStack() as held:
        port, keys = await held.enter_async_context(ROLES[role](project))
        channel = await held.enter_async_context(grpc.aio.insecure_channel(f"127.0.0.1:{port}"))
        await use(channel, keys)


@pytest.mark.parametrize("role", ROLES)
def test_every_permission_does_on_a_running_server_what_the_rules_say_and_no_more(
    role: str, project: Path, scenario: StartScenario
) -> None:
    tried = scenario("G7", "every call of every role with every permission")

    async def use(channel: Any, keys: Keys) -> None:
        for service in await services_of(channel):
            for method in declared(service).methods:
                path = f"/{service}/{method.name}"
                assert path in RULES, f"{path} has no rule; say in api/rules.py who may call it"
                if service in STANDARD:
                    continue
                for may, key in keys.items():
                    code = await code_of(channel, path, method, key)
                    is_denied = code == "PERMISSION_DENIED"
                    wanted = RULES[path] or frozenset(Permission)
                    is_right = is_denied is (Permission(may) not in wanted)
                    tried.holds("as the rules say", f"{code} for {path} with {may}", is_right)
                    assert code not in ("INTERNAL", "UNKNOWN"), (path, code)
                    assert code != "UNAUTHENTICATED" or path == REFRESH, path

    asyncio.run(over(role, project, use))


@pytest.mark.parametrize("role", ROLES)
def test_nobody_without_a_key_gets_further_than_health(
    role: str, project: Path, scenario: StartScenario
) -> None:
    tried = scenario("G7", "every call of every role without a key")

    async def use(channel: Any, _: Keys) -> None:
        refusals = {"UNAUTHENTICATED"}
        if role == "feature-store":
            refusals.add("INVALID_ARGUMENT")  # as the original says that headers are missing
        for service in set(await services_of(channel)) - set(STANDARD):
            for method in declared(service).methods:
                path = f"/{service}/{method.name}"
                code = await code_of(channel, path, method, "")
                if RULES[path]:
                    tried.holds("refused", code, code in refusals)
                else:
                    assert code == "OK", (path, code)

    asyncio.run(over(role, project, use))


def test_no_rule_is_left_over_from_a_call_that_is_gone(project: Path) -> None:
    found: set[str] = set(STANDARD)

    async def use(channel: Any, _: Keys) -> None:
        found.update(await services_of(channel))

    for role in ROLES:
        folder = project / role
        write_starter(folder)
        asyncio.run(over(role, folder, use))
    paths = {f"/{service}/{each.name}" for service in found for each in declared(service).methods}
    assert set(RULES) == paths
