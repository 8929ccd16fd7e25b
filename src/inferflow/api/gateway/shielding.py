"""What stands before the routes: an id for each request, and how large, slow and foreign it may be.

All of it is plain ASGI, so that a body is refused while it comes and not after.
"""

from __future__ import annotations

import asyncio
import logging
import re
import time
from typing import Any
from urllib.parse import urlsplit

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inferflow.access.gate import Gate, OpenGate
from inferflow.api.beside import request_id
from inferflow.api.gateway.failing import UNEXPECTED, problem_response, refusal, request_id_of
from inferflow.api.gateway.inflating import Inflater
from inferflow.api.gateway.ports import Bounds, Metrics
from inferflow.errors import BodyTooLarge, BodyTooSlow, InferflowError, PermissionDenied
from inferflow.rpc.headers import REQUEST_ID

log = logging.getLogger(__name__)

_HTTP, SOCKET = "http", "websocket"
_UPLOAD = re.compile(r"/api/v1/models/[^/]+/versions")
_OURS = re.compile(r"localhost|[0-9.]+|\[[0-9a-fA-F:.]+\]")
_MIB = 1024 * 1024
_DENIAL = "websocket.http.response"
_STARTS = ("http.response.start", f"{_DENIAL}.start")
_ALWAYS = [(b"x-content-type-options", b"nosniff"), (b"referrer-policy", b"no-referrer")]


class Reception:
    """Gives each request its id, counts how it was answered, and lets no error through."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics | None) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in (_HTTP, SOCKET):
            await self._app(scope, receive, send)
            return
        given = header(scope, REQUEST_ID)
        own_id = request_id({REQUEST_ID: (given,)} if given else {})
        scope["state"] = {**scope.get("state", {}), "request_id": own_id}
        beside = [(REQUEST_ID.encode(), own_id.encode()), *_ALWAYS]
        status, began = 0, time.perf_counter()

        async def told(message: Message) -> None:
            nonlocal status
            if message["type"] in _STARTS:
                status = message["status"]
                message["headers"] = [*message.get("headers", ()), *beside]
            await send(message)

        try:
            await self._app(scope, receive, told)
        except Exception:  # the boundary of a request: the server lives on
            log.exception("http_failed", extra={"path": scope["path"], "request_id": own_id})
            if scope["type"] == _HTTP and not status:
                response = problem_response(scope["path"], 500, UNEXPECTED, own_id)
                await response(scope, receive, told)
        finally:
            if self._metrics is not None and scope["type"] == _HTTP:
                seconds = time.perf_counter() - began
                self._metrics.answered(scope["method"], route_of(scope), status, seconds)


def route_of(scope: Scope) -> str:
    """The route's own path, so that there are as many as there are routes."""
    return str(getattr(scope.get("route"), "path", "other"))


class FrontDoor:
    """Refuses what pages of other hosts ask while nobody is asked for a key.

    A browser on this machine asks in the name of any page it shows, and a page can give its own
    name this machine's address: so a gateway that is for this machine only has no other name than
    an address."""

    def __init__(self, app: ASGIApp, *, bounds: Bounds, gate: Gate | OpenGate) -> None:
        self._app = app
        self._is_open = gate.is_open
        self._refusals = gate.refusals
        self._is_loopback = bounds.is_loopback
        self._origins = frozenset(bounds.origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._is_open and scope["type"] in (_HTTP, SOCKET):
            why = self._why_not(scope)
            if why:
                refused = PermissionDenied(why)
                self._refusals.note(refused)
                await refuse(refused, scope, receive, send)
                return
        await self._app(scope, receive, send)

    def _why_not(self, scope: Scope) -> str:
        host = header(scope, "host")
        if self._is_loopback and host and not _OURS.fullmatch(_name(host)):
            return "Host: this gateway is for its own machine, and is called by address"
        origin = header(scope, "origin")
        if not origin or origin in self._origins:
            return ""
        if not host or _place(origin) != host:
            return "Origin: pages of other hosts may not call this gateway"
        return ""


def _place(origin: str) -> str:
    """Host and port of an Origin header; empty for what is no URL."""
    try:
        return urlsplit(origin).netloc
    except ValueError:
        return ""


def _name(host: str) -> str:
    """A Host header without its port."""
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdecimal() else host


class BodyShield:
    """Bodies as they were meant: whole, in time, inflated, and no larger than allowed."""

    def __init__(self, app: ASGIApp, *, bounds: Bounds) -> None:
        self._app = app
        self._bounds = bounds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != _HTTP:
            await self._app(scope, receive, send)
            return
        try:
            body = _Body(scope, receive, self._bounds)
        except InferflowError as refused:
            await refuse(refused, scope, receive, send)
            return
        await self._app(scope, body.receive, send)


class _Body:
    """One body on its way in. Raises what is wrong with it to whoever reads it."""

    def __init__(self, scope: Scope, receive: Receive, bounds: Bounds) -> None:
        self._receive = receive
        self._is_upload = _UPLOAD.fullmatch(scope["path"]) is not None
        self._most = bounds.upload_bytes if self._is_upload else bounds.body_bytes
        self._budget_ms = bounds.body_ms
        self._inflater = Inflater.of(header(scope, "content-encoding"), self._most)
        self._came = 0
        self._is_whole = False
        self._ends_at = asyncio.get_running_loop().time() + bounds.body_ms / 1000
        length = header(scope, "content-length")
        if length.isdecimal():
            self._check(int(length))

    async def receive(self) -> Message:
        if self._is_whole:
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._ends_at):
                message = await self._receive()
        except TimeoutError:
            what = f"did not come within {self._budget_ms:g} ms"
            raise BodyTooSlow("body", what) from None
        if message["type"] == "http.request":
            self._note(message)
        return message

    def _note(self, message: Message) -> None:
        more = message.get("more_body", False)
        self._is_whole = not more
        self._count(len(message.get("body", b"")))
        if self._inflater is not None:
            message["body"] = self._inflater.feed(message.get("body", b""), is_last=not more)

    def _count(self, size: int) -> None:
        before, self._came = self._came, self._came + size
        self._check(self._came)
        if self._is_upload and self._came // _MIB > before // _MIB:
            now = asyncio.get_running_loop().time()
            self._ends_at = now + self._budget_ms / 1000

    def _check(self, size: int) -> None:
        if size > self._most:
            raise BodyTooLarge(
                "body", f"{size} bytes are more than the {self._most} that are allowed"
            )


def header(scope: Scope, name: str) -> str:
    wanted = name.encode()
    for key, value in scope["headers"]:
        if key == wanted:
            text: str = value.decode("latin-1")
            return text
    return ""


def source_of(scope: Scope) -> str:
    """The address a request comes from."""
    return scope["client"][0] if scope.get("client") else ""


async def refuse(error: InferflowError, scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with a problem; to a socket before it is one, where the server can."""
    if scope["type"] == SOCKET and _DENIAL not in (scope.get("extensions") or ()):
        close: dict[str, Any] = {"type": "websocket.close", "code": 1008, "reason": str(error)}
        await send(close)
        return
    response = refusal(error, scope["path"], request_id_of(scope))
    await response(scope, receive, send)
