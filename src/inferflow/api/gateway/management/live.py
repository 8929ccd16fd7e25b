"""Live numbers: the newest over HTTP, and all of them over a WebSocket.

A page that does not read what it is sent is left behind: its socket is closed, and it may come
back.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from fastapi import APIRouter, Request, WebSocket
from starlette.websockets import WebSocketDisconnect

from inferflow.api.gateway.door import admit_socket, caller_of, readmit
from inferflow.api.gateway.management.having import having
from inferflow.api.gateway.management.live_shapes import LiveMetrics
from inferflow.api.gateway.management.ports import BackOffice, Facts, Live
from inferflow.api.gateway.management.seeing import may_know, seen_by
from inferflow.api.gateway.ports import Caller
from inferflow.errors import InferflowError
from inferflow.explanation.json_text import json_text

_SEND_WITHIN_S = 10.0
_LOOKED_AT_EVERY = 30
"""Messages after which a page's key is looked at again: it may have been revoked."""
_TRY_AGAIN, _POLICY = 1013, 1008


def live_router(office: BackOffice) -> APIRouter:
    router = APIRouter(prefix="/api/v1", tags=["live"])

    @router.get("/live", response_model=LiveMetrics)
    async def latest_numbers(request: Request) -> Facts:
        """Requests, latencies and errors of the last second, in all and by config and step."""
        return seen_by(caller_of(request), having(office.live, "live").latest())

    @router.websocket("/live")
    async def live_numbers(websocket: WebSocket) -> None:
        caller = await admit_socket(websocket)
        if office.live is None:
            await websocket.close(_TRY_AGAIN, "this gateway has no live numbers")
            return
        await _converse(websocket, caller, office.live)

    return router


async def _converse(websocket: WebSocket, caller: Caller, live: Live) -> None:
    sending = asyncio.ensure_future(_send(websocket, caller, live))
    leaving = asyncio.ensure_future(_until_left(websocket))
    try:
        await asyncio.wait((sending, leaving), return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in (sending, leaving):
            task.cancel()
        ended, _ = await asyncio.gather(sending, leaving, return_exceptions=True)
    code = _POLICY if isinstance(ended, InferflowError) else _TRY_AGAIN
    with suppress(RuntimeError, WebSocketDisconnect):  # they may have left meanwhile
        await websocket.close(code)


async def _send(websocket: WebSocket, caller: Caller, live: Live) -> None:
    number = 0
    async for message in live.listen():
        number += 1
        if number % _LOOKED_AT_EVERY == 0:
            await readmit(websocket, caller)
        if message["type"] == "event" and not may_know(caller, message):
            continue
        async with asyncio.timeout(_SEND_WITHIN_S):
            await websocket.send_text(json_text(seen_by(caller, message)))


async def _until_left(websocket: WebSocket) -> None:
    """What a page sends is of no interest; that it is gone is."""
    while (await websocket.receive())["type"] != "websocket.disconnect":
        pass
