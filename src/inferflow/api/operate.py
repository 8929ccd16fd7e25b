"""What a server tells about itself, over gRPC and HTTP: kept requests, and how configs stand.

Both ways ask the same `Pages` for the same JSON documents. Who may look inside is decided here,
at the edge, because what stands behind it may be a process that only sees its parent.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable
from typing import Any, Protocol
from urllib.parse import parse_qsl, unquote, urlsplit

import grpc
from google.protobuf.message import DecodeError

from inferflow._proto.pool import message_class
from inferflow.api.http import JSON, Reply, TreeRoute, asking_host
from inferflow.api.insight import WhyNot, peer_host
from inferflow.api.status import status_of, text_of
from inferflow.errors import InferflowError, InvalidRequest, NotFound, PermissionDenied

SERVICE = "inferflow.v1.Operate"
RECORDINGS, CONFIGS = "/recordings", "/configs"

GetRecordingRequest = message_class("inferflow.v1.GetRecordingRequest")
ListRecordingsRequest = message_class("inferflow.v1.ListRecordingsRequest")
ListConfigsRequest = message_class("inferflow.v1.ListConfigsRequest")
Document = message_class("inferflow.v1.Document")

_ID = re.compile(r"[0-9a-f]{4,16}-[0-9]{1,18}")
_MOST = 10_000


class Pages(Protocol):
    """Documents as JSON text. Raises NotFound for a recording that is not kept, InvalidRequest
    for an item it does not have."""

    async def recording(self, recording: str, item: str) -> str: ...

    async def recordings(self, last: int) -> str:
        """The newest so many; 0: all."""

    async def configs(self, *, with_problems: bool) -> str:
        """Problems quote configs, so not everybody is told more than their number."""


class Desk:
    """Checks what is asked and who asks, before anything is looked up."""

    def __init__(self, pages: Pages, why_not: WhyNot) -> None:
        self._pages = pages
        self._why_not = why_not

    async def recording(self, host: str, recording: str, item: str) -> str:
        self._refuse_others(host)
        if not _ID.fullmatch(recording):
            raise NotFound("recording", recording[:100])
        return await self._pages.recording(recording, item)

    async def recordings(self, host: str, last: int) -> str:
        self._refuse_others(host)
        if not 0 <= last <= _MOST:
            raise InvalidRequest("last", f"a number from 0 to {_MOST} is wanted")
        return await self._pages.recordings(last)

    async def configs(self, host: str) -> str:
        return await self._pages.configs(with_problems=not self._why_not(host))

    def _refuse_others(self, host: str) -> None:
        why = self._why_not(host)
        if why:
            raise PermissionDenied(why)


# --- gRPC -----------------------------------------------------------------------------------


def operate_handlers(desk: Desk) -> list[grpc.GenericRpcHandler]:
    """To be registered with a server."""

    def get_recording(host: str, asked: Any) -> Awaitable[str]:
        return desk.recording(host, asked.recording, asked.item)

    def list_recordings(host: str, asked: Any) -> Awaitable[str]:
        return desk.recordings(host, asked.last)

    def list_configs(host: str, _asked: Any) -> Awaitable[str]:
        return desk.configs(host)

    methods = {
        "GetRecording": _method(GetRecordingRequest, get_recording),
        "ListRecordings": _method(ListRecordingsRequest, list_recordings),
        "ListConfigs": _method(ListConfigsRequest, list_configs),
    }
    return [grpc.method_handlers_generic_handler(SERVICE, methods)]


def _method(message: Any, answer: Callable[[str, Any], Awaitable[str]]) -> Any:
    async def handle(body: bytes, context: Any) -> bytes:
        try:
            asked = message.FromString(body)
            text = await answer(peer_host(context.peer()), asked)
        except DecodeError:
            what = f"these bytes are not a {message.DESCRIPTOR.name} message"
            await context.abort(grpc.StatusCode.INVALID_ARGUMENT, what)
        except InferflowError as refused:
            await context.abort(status_of(refused).grpc, text_of(refused))
        written: bytes = Document(json=text).SerializeToString()
        return written

    return grpc.unary_unary_rpc_method_handler(handle)


# --- HTTP -----------------------------------------------------------------------------------


def operate_trees(desk: Desk) -> dict[str, TreeRoute]:
    """`/recordings`, `/recordings/ID` and `/configs`, to be mounted in an HTTP server."""

    async def recordings(target: str) -> Reply:
        path, query = _taken_apart(target)
        name = path.removeprefix(RECORDINGS).removeprefix("/")
        if name:
            return await _replied(desk.recording(asking_host(), name, query.get("item", "")))
        last = query.get("last", "0")
        if not last.isdecimal():
            return Reply(b"last: a number is wanted\n", 400)
        return await _replied(desk.recordings(asking_host(), int(last)))

    async def configs(target: str) -> Reply:
        if _taken_apart(target)[0] != CONFIGS:
            return Reply(b"not found\n", 404)
        return await _replied(desk.configs(asking_host()))

    return {RECORDINGS: recordings, CONFIGS: configs}


def _taken_apart(target: str) -> tuple[str, dict[str, str]]:
    parts = urlsplit(target)
    return unquote(parts.path), dict(parse_qsl(parts.query))


async def _replied(text: Awaitable[str]) -> Reply:
    try:
        return Reply((await text).encode(), content_type=JSON)
    except InferflowError as refused:
        return Reply(f"{text_of(refused)}\n".encode(), status_of(refused).http)
