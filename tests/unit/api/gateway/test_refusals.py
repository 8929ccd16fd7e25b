"""Whom a gateway turns away counts, over HTTP and over sockets."""

from __future__ import annotations

import pytest
from starlette.websockets import WebSocketDisconnect

from inferflow.access.gate import OpenGate
from inferflow.api.gateway.ports import Bounds

from .behind import WS, KnownScoring, asking, keys

REQUEST = {"entities": {"user": "7", "product": ["1"]}}


def test_a_request_that_is_not_let_in_is_counted_by_reason() -> None:
    known = keys(("ranker",), shop="inference", ops="view")
    with asking(gate=known.gate, scoring=KnownScoring()) as client:

        def ask(key: str, config: str = "ranker") -> int:
            shown = {"authorization": key} if key else {}
            return int(client.post(f"/v1/score/{config}", json=REQUEST, headers=shown).status_code)

        shop, ops = (f"Bearer {known.texts[name]}" for name in ("shop", "ops"))
        found = [ask(shop), ask(""), ask("Basic x"), ask("Bearer x"), ask(ops), ask(shop, "other")]
    assert found == [200, 401, 401, 401, 403, 403]
    counts = known.gate.refusals.counts()
    assert counts == {"unauthenticated": 3, "permission": 2, "rate": 0, "unchecked": 0}


def test_a_caller_that_asks_too_often_is_counted_with_keys_or_without() -> None:
    known = keys(shop="inference")
    bounds = Bounds(rate="2/minute")
    with asking(gate=known.gate, scoring=KnownScoring(), bounds=bounds) as client:
        shown = {"authorization": f"Bearer {known.texts['shop']}"}
        for _ in range(5):
            client.post("/v1/score/ranker", json=REQUEST, headers=shown)
    assert known.gate.refusals.counts()["rate"] == 3


def test_a_socket_without_a_key_is_counted_once() -> None:
    known = keys(shop="inference")
    with (
        asking(gate=known.gate, scoring=KnownScoring()) as client,
        client.websocket_connect(f"{WS}/v1/stream/ranker") as socket,
    ):
        socket.send_json({"type": "auth", "key": "ifk_nobody"})
        socket.receive_json()
        with pytest.raises(WebSocketDisconnect):
            socket.receive_json()
    assert known.gate.refusals.counts()["unauthenticated"] == 1


def test_a_page_of_another_host_is_counted() -> None:
    gate = OpenGate()
    with asking(gate=gate, scoring=KnownScoring()) as client:
        answer = client.post("/v1/score/ranker", json=REQUEST, headers={"origin": "http://evil"})
    assert answer.status_code == 403
    assert gate.refusals.counts()["permission"] == 1
