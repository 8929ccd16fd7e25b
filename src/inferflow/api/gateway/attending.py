"""Whether the other end of an open WebSocket is still there, and still may be.

The server below sends no pings that could be missed. So whoever says nothing for long is taken to
be gone: callers that only listen say `{"type": "ping"}` now and then. A key that was revoked ends
the sockets it opened within the time between two looks, whether or not anything is said.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import orjson
from fastapi import WebSocket
from starlette.websockets import WebSocketDisconnect

from inferflow.api.gateway.door import still_may
from inferflow.api.gateway.ports import Bounds, Caller
from inferflow.errors import InferflowError, PermissionDenied, Unauthenticated

LEAVING, POLICY, TRY_AGAIN = 1001, 1008, 1013
PONG = b'{"type":"pong"}'
SEND_WITHIN_S = 10.0
"""Whoever does not read what it is sent is left."""
_CLOSE_WITHIN_S = 5.0
_LONGEST_REASON = 100
_LONGEST_PING = 64
_GONE = (WebSocketDisconnect, OSError, RuntimeError)


@dataclass(frozen=True, slots=True)
class Farewell:
    """How a socket is closed, and why."""

    code: int
    reason: str = ""


class Attendance:
    def __init__(
        self,
        websocket: WebSocket,
        caller: Caller,
        bounds: Bounds,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`clock` is monotonic, in seconds."""
        self._websocket = websocket
        self._caller = caller
        self._idle_s = bounds.socket_idle_ms / 1000
        self._look_s = min(bounds.socket_look_ms / 1000, self._idle_s)
        self._clock = clock
        self._heard_at = clock()

    def heard(self) -> None:
        """They said something."""
        self._heard_at = self._clock()

    async def watch(self) -> Farewell:
        """Ends when they are gone, or may not be here any more."""
        while True:
            await asyncio.sleep(self._look_s)
            if self._clock() - self._heard_at >= self._idle_s:
                return Farewell(LEAVING, f"nothing was said for {self._idle_s:g} s")
            try:
                await still_may(self._websocket, self._caller)
            except (Unauthenticated, PermissionDenied) as refused:
                return Farewell(POLICY, str(refused))
            except InferflowError:
                continue  # nobody can tell now, and those who ask for something are told so


def is_ping(text: str) -> bool:
    if len(text) > _LONGEST_PING or '"ping"' not in text:
        return False
    with suppress(orjson.JSONDecodeError):
        return bool(orjson.loads(text) == {"type": "ping"})
    return False


async def first_of(*doing: Coroutine[Any, Any, Farewell | None]) -> Farewell | None:
    """What the first to end says; the others are stopped. None when the other end has left."""
    tasks = [asyncio.ensure_future(each) for each in doing]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.exception()  # seen, also where another was first
    first = next(task for task in tasks if task in done)
    try:
        return first.result()
    except _GONE:
        return None


async def send_text(websocket: WebSocket, text: str) -> None:
    """Raises OSError when they do not read."""
    async with asyncio.timeout(SEND_WITHIN_S):  # TimeoutError is an OSError
        await websocket.send_text(text)


async def part(websocket: WebSocket, farewell: Farewell | None) -> None:
    """Close, unless they have left."""
    if farewell is None:
        return
    with suppress(*_GONE):
        async with asyncio.timeout(_CLOSE_WITHIN_S):
            await websocket.close(farewell.code, farewell.reason[:_LONGEST_REASON])
