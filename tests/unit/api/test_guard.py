"""Nobody reaches a handler who may not, whatever kind of call it is."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from tests.servers.certificates import Certificates

from inferflow.access import Gate, KeyCard, ModelPatterns, OpenGate, Permission
from inferflow.api import rules
from inferflow.api.guard import admitted, guarded
from inferflow.errors import Unauthenticated, Unreachable
from inferflow.rpc.channel import open_channel
from inferflow.rpc.options import ChannelOptions
from inferflow.rpc.server import start_server
from inferflow.rpc.tls import TlsFiles
from inferflow.rpc.tls_channel import ChannelTls
from inferflow.rpc.tls_server import ServerTls

from ...robustness.scenario import StartScenario

KINDS = ("unary_unary", "unary_stream", "stream_unary", "stream_stream")
CARD = KeyCard("k1", "shop", frozenset({Permission.INFERENCE}), ModelPatterns(), 0)
SHOWN = (("authorization", "Bearer ifk_good"),)


class OneKey:
    async def identify(self, key: str) -> KeyCard:
        if key != "ifk_good":
            raise Unauthenticated("no")
        return CARD


class Names:
    """One call of each kind, which answers with the name of its caller."""

    def __init__(self) -> None:
        self.reached = 0

    def handlers(self) -> list[grpc.GenericRpcHandler]:
        methods: dict[str, Any] = {}
        for kind in KINDS:
            made = getattr(grpc, f"{kind}_rpc_method_handler")
            streams = kind.endswith("_stream")
            methods[kind] = made(self._streamed if streams else self._answered)
        return [grpc.method_handlers_generic_handler("Names", methods)]

    def _name(self) -> bytes:
        self.reached += 1
        card = admitted()
        return card.name.encode() if card else b"anybody"

    async def _answered(self, _: Any, __: Any) -> bytes:
        return self._name()

    async def _streamed(self, _: Any, __: Any) -> AsyncIterator[bytes]:
        yield self._name()


@pytest.fixture(autouse=True)
def _ruled(monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in KINDS:
        needs = frozenset({Permission.INFERENCE})
        monkeypatch.setitem(rules.RULES, f"/Names/{kind}", needs)


async def ask(channel: Any, kind: str, metadata: Any) -> str:
    body: Any = iter([b""]) if kind.startswith("stream") else b""
    call = getattr(channel, kind)(f"/Names/{kind}")(body, metadata=metadata, timeout=10)
    try:
        if not kind.endswith("_stream"):
            return bytes(await call).decode()
        async for each in call:
            return bytes(each).decode()
    except grpc.aio.AioRpcError as refused:
        return f"{refused.code().name} {refused.details()}"
    return "nothing"


def asked(
    gate: Gate | OpenGate, kind: str, metadata: Any = (), tls: Any = None, trust: Any = None
) -> tuple[str, Names]:
    names = Names()

    async def run() -> str:
        server = await start_server(guarded(names.handlers(), gate), services=(), tls=tls)
        channel = open_channel(f"localhost:{server.port}", ChannelOptions(attempts=1, tls=trust))
        try:
            return await ask(channel, kind, metadata)
        finally:
            await channel.close()
            await server.stop()

    return asyncio.run(run()), names


@pytest.mark.parametrize("kind", KINDS)
def test_a_call_of_any_kind_is_answered_to_a_known_caller_only(kind: str) -> None:
    gate = Gate([OneKey()], lambda: 0.0)
    assert asked(gate, kind, SHOWN)[0] == "shop"
    for shown in ((), (("authorization", "Bearer x"),), (("authorization", "Basic ifk_good"),)):
        refusal, names = asked(gate, kind, shown)
        assert refusal.startswith("UNAUTHENTICATED")
        assert names.reached == 0


@pytest.mark.parametrize("kind", KINDS)
def test_a_permission_that_lacks_is_named(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(rules.RULES, f"/Names/{kind}", frozenset({Permission.ADMIN}))
    refusal, names = asked(Gate([OneKey()], lambda: 0.0), kind, SHOWN)
    assert refusal == "PERMISSION_DENIED key 'k1' lacks the permission 'admin'"
    assert names.reached == 0


def test_whoever_is_turned_away_is_counted_and_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Away(OneKey):
        async def identify(self, key: str) -> KeyCard:
            raise Unreachable("manager:1", 1, "is away")

    gate = Gate([OneKey()], lambda: 0.0)
    for shown in (SHOWN, (), (("authorization", "Basic x"),), (("authorization", "Bearer x"),)):
        asked(gate, "unary_unary", shown)
    monkeypatch.setitem(rules.RULES, "/Names/unary_unary", frozenset({Permission.ADMIN}))
    asked(gate, "unary_unary", SHOWN)
    counts = {"unauthenticated": 3, "permission": 1, "rate": 0, "unchecked": 0}
    assert gate.refusals.counts() == counts
    gate = Gate([Away()], lambda: 0.0)
    asked(gate, "unary_unary", SHOWN)
    assert gate.refusals.counts()["unchecked"] == 1


@pytest.mark.parametrize("kind", KINDS)
def test_an_open_gate_leaves_handlers_as_they_are(kind: str) -> None:
    assert asked(OpenGate(), kind)[0] == "anybody"
    handlers = Names().handlers()
    assert guarded(handlers, OpenGate()) == handlers


def test_a_call_without_a_rule_is_refused_to_everybody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(rules.RULES, "/Names/unary_unary")
    _, names = asked(Gate([OneKey()], lambda: 0.0), "unary_unary", SHOWN)
    assert names.reached == 0


def test_a_token_of_more_than_a_header_holds_is_refused_unread(scenario: StartScenario) -> None:
    tried = scenario("G1", "a token of 7 kB")
    shown = (("authorization", f"Bearer {'x' * 7000}"),)
    refusal, names = asked(Gate([OneKey()], lambda: 0.0), "unary_unary", shown)
    assert refusal.split()[0] in ("UNAUTHENTICATED", "RESOURCE_EXHAUSTED")
    tried.at_most("handlers reached", names.reached, 0)


def test_a_client_is_known_by_its_certificate(tmp_path: Path) -> None:
    certs = Certificates(tmp_path)
    cert, key = map(str, certs.server())
    server = ServerTls(TlsFiles(cert, key, str(certs.ca)), client_auth="required")
    gate = Gate([OneKey()], lambda: 0.0, certificates={"spiffe://shop/web": CARD})
    for name, uri, found in (
        ("web", "spiffe://shop/web", "shop"),
        ("web", "spiffe://shop/other", "UNAUTHENTICATED"),
    ):
        own = [str(each) for each in certs.client(name, uri)]
        trust = ChannelTls(TlsFiles(own[0], own[1], str(certs.ca)))
        assert asked(gate, "unary_unary", (), server, trust)[0].startswith(found)


@pytest.mark.parametrize(("shown", "outcome"), [(SHOWN, "ok"), ((), "refused")])
def test_a_change_leaves_a_line_whoever_tried_to_make_it(
    shown: Any, outcome: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    card = KeyCard("k2", "ops", frozenset({Permission.CONFIGURE}), ModelPatterns(), 0)

    class Ops:
        async def identify(self, key: str) -> KeyCard:
            del key
            return card

    monkeypatch.setitem(rules.RULES, "/Names/unary_unary", frozenset({Permission.CONFIGURE}))
    with caplog.at_level(logging.INFO, "inferflow.audit"):
        asked(Gate([Ops()], lambda: 0.0), "unary_unary", shown)
    [line] = [each for each in caplog.records if each.name == "inferflow.audit"]
    facts = vars(line)
    assert (facts["action"], facts["outcome"]) == ("unary_unary", outcome)
    assert facts["by"] == ("k2" if shown else "")
