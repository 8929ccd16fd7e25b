"""Streams of requests over a WebSocket."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from starlette.websockets import WebSocketDisconnect

from inferflow.access.gate import OpenGate
from inferflow.api.gateway.app import make_app
from inferflow.api.gateway.ports import Bounds, Ports
from inferflow.engine.request import ScoreRequest
from inferflow.scores import Scores
from inferflow.tracing import Span, Tracer, use_tracer

from .behind import (
    WS,
    EchoModels,
    KnownScoring,
    WebSocketDenialResponse,
    asking,
    keys,
    scores_of,
)


def request(tracking_id: str, *products: str) -> dict[str, object]:
    return {"tracking_id": tracking_id, "entities": {"user": "7", "product": list(products)}}


def test_answers_come_in_the_order_of_the_requests() -> None:
    with (
        asking(scoring=KnownScoring()) as client,
        client.websocket_connect(f"{WS}/v1/stream/ranker") as socket,
    ):
        for number in range(40):
            socket.send_json(request(str(number), *map(str, range(number + 1))))
        answers = [socket.receive_json() for _ in range(40)]
    assert [each["tracking_id"] for each in answers] == [str(number) for number in range(40)]
    assert [len(each["targets"]) for each in answers] == list(range(1, 41))


def test_each_message_is_a_span_of_the_trace_its_socket_was_opened_for() -> None:
    ended: list[Span] = []
    stop = use_tracer(Tracer(ended.append))
    opened_for = {"traceparent": f"00-{'a' * 32}-{'b' * 16}-01"}
    try:
        with (
            asking(scoring=KnownScoring()) as client,
            client.websocket_connect(f"{WS}/v1/stream/ranker", headers=opened_for) as socket,
        ):
            socket.send_json(request("1", "a"))
            socket.send_json({"entitiez": {}})
            for _ in range(2):
                socket.receive_json()
    finally:
        stop()
    assert [span.name for span in ended] == ["WS /v1/stream/{config_id}"] * 2
    assert {span.context.trace_id for span in ended} == {int("a" * 32, 16)}
    assert {span.parent_id for span in ended} == {int("b" * 16, 16)}
    assert {span.error for span in ended} == {None}  # the second one is its caller's affair


def test_a_request_that_fails_says_so_in_its_place() -> None:
    with (
        asking(scoring=KnownScoring()) as client,
        client.websocket_connect(f"{WS}/v1/stream/ranker") as socket,
    ):
        socket.send_json(request("1", "a"))
        socket.send_json({"tracking_id": "2", "entitiez": {}})
        socket.send_text("{")
        socket.send_json(request("4", "a"))
        first, second, third, fourth = (socket.receive_json() for _ in range(4))
    assert (first["tracking_id"], fourth["tracking_id"]) == ("1", "4")
    assert (second["status"], second["field"], second["tracking_id"]) == (400, "entitiez", "2")
    assert (third["status"], third["field"]) == (400, "body")


def test_a_browser_shows_its_key_in_the_first_message() -> None:
    who = keys(shop="inference", looker="view")
    with asking(gate=who.gate, scoring=KnownScoring()) as client:
        with client.websocket_connect(f"{WS}/v1/stream/ranker") as socket:
            socket.send_json({"type": "auth", "key": who.texts["shop"]})
            socket.send_json(request("1", "a"))
            assert socket.receive_json()["tracking_id"] == "1"
        with client.websocket_connect(f"{WS}/v1/stream/ranker", headers=who["shop"]) as socket:
            socket.send_json(request("1", "a"))
            assert socket.receive_json()["tracking_id"] == "1"


@pytest.mark.parametrize(
    ("first", "status"),
    [
        ({"type": "auth", "key": "ifk_no"}, 401),
        ({"type": "auth"}, 401),
        ({"entities": {}}, 401),
        ("looker", 403),
    ],
)
def test_who_may_not_is_told_why_and_left(first: object, status: int) -> None:
    who = keys(looker="view")
    if first == "looker":
        first = {"type": "auth", "key": who.texts["looker"]}
    with (
        asking(gate=who.gate, scoring=KnownScoring()) as client,
        client.websocket_connect(f"{WS}/v1/stream/ranker") as socket,
    ):
        socket.send_json(first)
        assert socket.receive_json()["status"] == status
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
    assert closed.value.code == 1008


def test_each_message_counts_as_a_request() -> None:
    with (
        asking(scoring=KnownScoring(), bounds=Bounds(rate="3/minute")) as client,
        client.websocket_connect(f"{WS}/v1/stream/ranker") as socket,
    ):
        for number in range(3):
            socket.send_json(request(str(number), "a"))
        answers = [socket.receive_json() for _ in range(3)]
    assert [each.get("status") for each in answers] == [None, None, 429]


@pytest.mark.scenario("G11")
def test_pages_of_other_hosts_cannot_connect() -> None:
    with (
        asking(scoring=KnownScoring()) as client,
        pytest.raises(WebSocketDisconnect),
        client.websocket_connect(
            f"{WS}/v1/stream/ranker", headers={"origin": "https://evil.example"}
        ),
    ):
        pass


def test_models_answer_streams_too() -> None:
    tensor = {"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2.5]}
    with (
        asking(models=EchoModels()) as client,
        client.websocket_connect(f"{WS}/v2/models/echo/stream") as socket,
    ):
        socket.send_json({"id": "a", "inputs": [tensor]})
        socket.send_json({"id": "b", "inputs": 1})
        answered, refused = socket.receive_json(), socket.receive_json()
    assert (answered["id"], answered["outputs"][0]["data"]) == ("a", [1.0, 2.5])
    assert refused == {"id": "b", "error": "inputs: a list is wanted"}


def test_a_gateway_that_ends_answers_what_was_asked_and_says_goodbye() -> None:
    leaving = asyncio.Event()
    with (
        asking(scoring=KnownScoring(), leaving=leaving) as client,
        client.websocket_connect(f"{WS}/v1/stream/ranker") as socket,
    ):
        socket.send_json(request("1", "a"))
        assert socket.receive_json()["tracking_id"] == "1"
        assert client.portal is not None
        client.portal.call(leaving.set)
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
        assert client.get("/health/ready").text == "draining"
    assert closed.value.code == 1001


def test_what_fails_here_is_an_answer_and_the_stream_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def answer(asked: ScoreRequest) -> Scores:
        if asked.tracking_id == "1":
            raise RuntimeError("a secret of ours")
        return scores_of(asked)

    with (
        asking(scoring=KnownScoring(answer)) as client,
        client.websocket_connect(f"{WS}/v1/stream/ranker") as socket,
    ):
        socket.send_json(request("1", "a"))
        socket.send_json(request("2", "a"))
        failed, answered = socket.receive_json(), socket.receive_json()
    assert (failed["status"], answered["tracking_id"]) == (500, "2")
    assert "secret" not in failed["detail"]
    assert [each.message for each in caplog.records] == ["stream_failed"]


def test_bytes_are_no_messages() -> None:
    with (
        asking(scoring=KnownScoring()) as client,
        client.websocket_connect(f"{WS}/v1/stream/ranker") as socket,
    ):
        socket.send_bytes(b"{}")
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
    assert closed.value.code == 1003


def test_a_caller_who_is_gone_with_answers_on_their_way_is_let_go() -> None:
    asked = {"type": "websocket.receive", "text": json.dumps(request("1", "a"))}
    coming = iter([{"type": "websocket.connect"}, *[asked] * 60])

    async def receive() -> Any:
        return next(coming)

    async def send(message: Any) -> None:
        if message["type"] == "websocket.send":
            raise OSError("they are gone")

    scope = {
        "type": "websocket",
        "path": "/v1/stream/ranker",
        "query_string": b"",
        "headers": [(b"host", b"127.0.0.1:8080")],
    }
    app = make_app(Ports(OpenGate(), scoring=KnownScoring()))

    async def converse() -> set[Any]:
        async with asyncio.timeout(10):
            await app(scope, receive, send)
        return asyncio.all_tasks() - {asyncio.current_task()}

    assert asyncio.run(converse()) == set()


# --- how many, and for how long -------------------------------------------------------------

STREAM = f"{WS}/v1/stream/ranker"


@pytest.mark.parametrize(
    ("bounds", "who"),
    [(Bounds(sockets_each=2), "testclient has 2"), (Bounds(sockets=2), "this gateway has 2")],
)
def test_one_socket_too_many_is_refused_before_it_is_one(bounds: Bounds, who: str) -> None:
    with asking(scoring=KnownScoring(), bounds=bounds) as client:
        with client.websocket_connect(STREAM), client.websocket_connect(STREAM) as last:
            with (
                pytest.raises(WebSocketDenialResponse) as refused,
                client.websocket_connect(STREAM),
            ):
                pass
            last.send_json(request("1", "a"))
            assert last.receive_json()["tracking_id"] == "1"
        with client.websocket_connect(STREAM):
            pass  # there is room again
    assert refused.value.status_code == 429
    assert refused.value.headers["retry-after"] == "1"
    assert refused.value.headers["content-type"] == "application/problem+json"
    assert refused.value.json()["detail"].startswith(f"{who} WebSockets open")


def test_sockets_count_for_their_keys_and_not_for_their_address() -> None:
    who = keys(shop="inference", other="inference")
    with (
        asking(gate=who.gate, scoring=KnownScoring(), bounds=Bounds(sockets_each=1)) as client,
        client.websocket_connect(STREAM, headers=who["shop"]) as first,
        client.websocket_connect(STREAM, headers=who["shop"]) as second,
        client.websocket_connect(STREAM, headers=who["other"]) as others,
    ):
        assert second.receive_json()["status"] == 429
        with pytest.raises(WebSocketDisconnect) as closed:
            second.receive_json()
        for each in (first, others):
            each.send_json(request("1", "a"))
            assert each.receive_json()["tracking_id"] == "1"
    assert closed.value.code == 1013
    assert closed.value.reason.startswith("key ")


def test_a_ping_is_answered_in_its_place_and_is_no_request() -> None:
    with (
        asking(scoring=KnownScoring(), bounds=Bounds(rate="2/minute")) as client,
        client.websocket_connect(STREAM) as socket,
    ):
        for _ in range(3):
            socket.send_json({"type": "ping"})
        socket.send_json(request("1", "a"))
        answers = [socket.receive_json() for _ in range(4)]
    assert answers[:3] == [{"type": "pong"}] * 3
    assert answers[3]["tracking_id"] == "1"


def test_a_caller_who_says_nothing_for_long_is_left() -> None:
    with (
        asking(scoring=KnownScoring(), bounds=Bounds(socket_idle_ms=1)) as client,
        client.websocket_connect(STREAM) as socket,
        pytest.raises(WebSocketDisconnect) as closed,
    ):
        socket.receive_json()
    assert (closed.value.code, closed.value.reason) == (1001, "nothing was said for 0.001 s")


@pytest.mark.scenario("G6")
def test_a_revoked_key_ends_a_stream_that_says_nothing() -> None:
    who = keys(shop="inference")
    soon = Bounds(socket_look_ms=1)
    with (
        asking(gate=who.gate, scoring=KnownScoring(), bounds=soon) as client,
        client.websocket_connect(STREAM, headers=who["shop"]) as socket,
    ):
        socket.send_json(request("1", "a"))
        assert socket.receive_json()["tracking_id"] == "1"
        who.revoke()
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
    assert closed.value.code == 1008


def test_a_message_that_is_too_large_is_named_so() -> None:
    with (
        asking(scoring=KnownScoring(), bounds=Bounds(body_bytes=100)) as client,
        client.websocket_connect(STREAM) as socket,
    ):
        socket.send_text("x" * 101)
        with pytest.raises(WebSocketDisconnect) as closed:
            socket.receive_json()
    assert (closed.value.code, closed.value.reason) == (
        1009,
        "the message is larger than 100 bytes",
    )
