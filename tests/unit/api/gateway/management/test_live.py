"""Live numbers over HTTP and over a socket."""

from __future__ import annotations

import asyncio

import pytest
from starlette.websockets import WebSocketDisconnect

from inferflow.api.gateway.management.ports import BackOffice
from inferflow.api.gateway.ports import Bounds

from ..behind import WS, asking, keys
from .stand_ins import NUMBERS, KnownLive

LIVE = f"{WS}/api/v1/live"


def test_the_newest_numbers_are_there_for_programs() -> None:
    with asking(office=BackOffice(live=KnownLive([]))) as client:
        told = client.get("/api/v1/live").json()
    assert told.items() >= NUMBERS.items()


def test_messages_come_over_a_socket_until_there_are_no_more() -> None:
    messages = [
        {"type": "history", "metrics": [], "events": []},
        {"type": "metrics", "at_ms": 1, "configs": {}},
    ]
    with (
        asking(office=BackOffice(live=KnownLive(messages))) as client,
        client.websocket_connect(LIVE) as socket,
    ):
        assert [socket.receive_json(), socket.receive_json()] == messages
        with pytest.raises(WebSocketDisconnect) as left:
            socket.receive_json()
    assert left.value.code == 1013


def test_a_page_shows_its_key_first() -> None:
    who = keys(looker="view", shop="inference")
    first = {"type": "history", "metrics": [], "events": []}
    live = KnownLive([first])
    with asking(gate=who.gate, office=BackOffice(live=live)) as client:
        with client.websocket_connect(LIVE) as socket:
            socket.send_json({"type": "auth", "key": who.texts["looker"]})
            assert socket.receive_json() == first
        with client.websocket_connect(LIVE) as socket:
            socket.send_json({"type": "auth", "key": who.texts["shop"]})
            assert socket.receive_json()["status"] == 403


@pytest.mark.scenario("G6")
def test_a_key_that_was_revoked_ends_the_socket() -> None:
    who = keys(looker="view")
    live = KnownLive([{"type": "metrics", "at_ms": 1, "configs": {}}], goes_on=True)
    soon = Bounds(socket_look_ms=1)
    with (
        asking(gate=who.gate, office=BackOffice(live=live), bounds=soon) as client,
        client.websocket_connect(LIVE, headers=who["looker"]) as socket,
    ):
        assert socket.receive_json()["at_ms"] == 1
        who.revoke()
        with pytest.raises(WebSocketDisconnect) as left:
            socket.receive_json()
    assert left.value.code == 1008


def test_a_page_that_says_nothing_for_long_is_left() -> None:
    live = KnownLive([], goes_on=True)
    with (
        asking(office=BackOffice(live=live), bounds=Bounds(socket_idle_ms=1)) as client,
        client.websocket_connect(LIVE) as socket,
        pytest.raises(WebSocketDisconnect) as left,
    ):
        socket.receive_json()
    assert (left.value.code, left.value.reason) == (1001, "nothing was said for 0.001 s")


def test_a_gateway_without_numbers_closes_the_socket() -> None:
    with (
        asking() as client,
        client.websocket_connect(LIVE) as socket,
        pytest.raises(WebSocketDisconnect) as left,
    ):
        socket.receive_json()
    assert left.value.code == 1013


def test_pages_are_let_go_before_a_gateway_ends() -> None:
    live = KnownLive([])
    asyncio.run(BackOffice(live=live).let_go())
    asyncio.run(BackOffice().let_go())
    assert live.closed
