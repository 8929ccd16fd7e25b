"""What a server tells about itself: the same documents over gRPC and HTTP, for the same people."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from grpc import StatusCode
from hypothesis import given
from hypothesis import strategies as st

from inferflow.api.http import Reply, start_http
from inferflow.api.insight import Explain, insight
from inferflow.api.operate import (
    Desk,
    Document,
    GetRecordingRequest,
    ListConfigsRequest,
    ListRecordingsRequest,
    operate_handlers,
    operate_trees,
)
from inferflow.errors import InvalidRequest, NotFound

from .calling import Aborted, Caller
from .conftest import MakeService

GET = "/inferflow.v1.Operate/GetRecording"
LIST = "/inferflow.v1.Operate/ListRecordings"
CONFIGS = "/inferflow.v1.Operate/ListConfigs"
ELSEWHERE = "ipv4:10.0.0.7:5000"


class Told:
    """Pages that say how they were asked."""

    async def recording(self, recording: str, item: str) -> str:
        if recording == "dead-1":
            raise NotFound("recording", recording)
        if item == "nobody":
            raise InvalidRequest("item", "no target 'nobody'")
        return json.dumps({"recording": recording, "item": item})

    async def recordings(self, last: int) -> str:
        return json.dumps([last])

    async def configs(self, *, with_problems: bool) -> str:
        return json.dumps([with_problems])


def desk(explain: Explain = "loopback") -> Desk:
    return Desk(Told(), insight(explain))


@pytest.fixture
def caller(make_service: MakeService) -> Caller:
    return Caller(make_service(), *operate_handlers(desk()))


def document(body: bytes) -> Any:
    return json.loads(Document.FromString(body).json)


def get(path: str, explain: Explain = "loopback", host: str = "localhost") -> Reply:
    async def asked() -> bytes:
        server = await start_http({}, trees=operate_trees(desk(explain)))
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        await server.close()
        return answer

    head, _, body = asyncio.run(asked()).partition(b"\r\n\r\n")
    return Reply(
        body, int(head.split()[1]), head.decode().split("Content-Type: ")[1].split("\r")[0]
    )


def test_a_recording_is_the_same_document_both_ways(caller: Caller) -> None:
    request = GetRecordingRequest(recording="beef-7", item="a b/c")
    expected = {"recording": "beef-7", "item": "a b/c"}
    assert document(caller(GET, request)) == expected
    reply = get("/recordings/beef-7?item=a%20b%2Fc")
    assert json.loads(reply.body) == expected
    assert reply.content_type == "application/json"


def test_lists_are_limited_both_ways(caller: Caller) -> None:
    assert document(caller(LIST, ListRecordingsRequest(last=3))) == [3]
    assert document(caller(LIST, ListRecordingsRequest())) == [0]
    assert json.loads(get("/recordings?last=3").body) == [3]
    assert json.loads(get("/recordings").body) == [0]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/recordings/dead-1", 404),
        ("/recordings/..%2f..%2fetc", 404),
        ("/recordings/BEEF-7", 404),
        ("/recordings/beef-7/more", 404),
        ("/recordings/beef-7?item=nobody", 400),
        ("/recordings?last=x", 400),
        ("/recordings?last=99999999", 400),
        ("/configs/ranker", 404),
    ],
)
def test_what_is_not_there_or_not_meant_is_told_over_http(path: str, status: int) -> None:
    assert get(path).status == status


@pytest.mark.parametrize(
    ("path", "request_", "code"),
    [
        (GET, GetRecordingRequest(recording="dead-1"), StatusCode.NOT_FOUND),
        (GET, GetRecordingRequest(recording="../etc"), StatusCode.NOT_FOUND),
        (GET, GetRecordingRequest(recording="beef-7", item="nobody"), StatusCode.INVALID_ARGUMENT),
        (LIST, ListRecordingsRequest(last=2**32 - 1), StatusCode.INVALID_ARGUMENT),
        (GET, b"\xff\xff\xff", StatusCode.INVALID_ARGUMENT),
    ],
)
def test_and_over_grpc(caller: Caller, path: str, request_: Any, code: StatusCode) -> None:
    with pytest.raises(Aborted) as refused:
        caller(path, request_)
    assert refused.value.code is code


def test_nobody_elsewhere_sees_a_recording(caller: Caller) -> None:
    for path, request in ((GET, GetRecordingRequest(recording="beef-7")), (LIST, b"")):
        with pytest.raises(Aborted) as refused:
            caller(path, request, peer=ELSEWHERE)
        assert refused.value.code is StatusCode.PERMISSION_DENIED
        assert "own machine" in refused.value.details


def test_nobody_sees_a_recording_where_explain_is_off() -> None:
    assert get("/recordings", "off").status == 403
    assert get("/recordings/beef-7", "off").status == 403


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("localhost:8082", 200),
        ("127.0.0.1:8082", 200),
        ("[::1]:8082", 200),
        ("evil.example", 403),
        ("evil.example:8082", 403),
        ("127.0.0.1.evil.example", 403),
        ("", 403),
    ],
)
def test_a_page_in_a_browser_here_cannot_look_by_giving_its_name_our_address(
    host: str, status: int
) -> None:
    assert get("/recordings", host=host).status == status
    assert get("/recordings", "on", host=host).status == 200


def test_problems_are_told_only_to_those_who_may_look_inside(caller: Caller) -> None:
    assert document(caller(CONFIGS, ListConfigsRequest())) == [True]
    assert document(caller(CONFIGS, ListConfigsRequest(), peer=ELSEWHERE)) == [False]
    assert json.loads(get("/configs", "off").body) == [False]


@given(st.text(max_size=40))
def test_no_name_of_a_recording_ends_the_server(name: str) -> None:
    async def asked() -> None:
        try:
            await desk().recording("127.0.0.1", name, "")
        except NotFound:
            return
        assert name.isascii()

    asyncio.run(asked())
