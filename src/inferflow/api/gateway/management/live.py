"""Live numbers: the newest over HTTP, and all of them over a WebSocket.

A page that does not read what it is sent is left behind: its socket is closed, and it may come
back.
"""

from __future__ import annotations

from fastapi import APIRouter, Request, WebSocket

from inferflow.api.gateway.attending import (
    TRY_AGAIN,
    Attendance,
    Farewell,
    first_of,
    part,
    send_text,
)
from inferflow.api.gateway.door import admit_socket, caller_of
from inferflow.api.gateway.management.having import having
from inferflow.api.gateway.management.live_shapes import LiveMetrics
from inferflow.api.gateway.management.ports import BackOffice, Facts, Live
from inferflow.api.gateway.management.seeing import may_know, seen_by
from inferflow.api.gateway.ports import Bounds, Caller
from inferflow.explanation.json_text import json_text


def live_router(office: BackOffice, bounds: Bounds) -> APIRouter:
    router = APIRouter(prefix="/api/v1", tags=["live"])

    @router.get("/live", response_model=LiveMetrics)
    async def latest_numbers(request: Request) -> Facts:
        """Requests, latencies and errors of the last second, in all and by config and step."""
        return seen_by(caller_of(request), having(office.live, "live").latest())

    @router.websocket("/live")
    async def live_numbers(websocket: WebSocket) -> None:
        caller = await admit_socket(websocket)
        if office.live is None:
            await websocket.close(TRY_AGAIN, "this gateway has no live numbers")
            return
        await _converse(websocket, caller, office.live, bounds)

    return router


async def _converse(websocket: WebSocket, caller: Caller, live: Live, bounds: Bounds) -> None:
    attendance = Attendance(websocket, caller, bounds)
    farewell = await first_of(
        _send(websocket, caller, live), _hear(websocket, attendance), attendance.watch()
    )
    await part(websocket, farewell)


async def _send(websocket: WebSocket, caller: Caller, live: Live) -> Farewell:
    async for message in live.listen():
        if message["type"] == "event" and not may_know(caller, message):
            continue
        await send_text(websocket, json_text(seen_by(caller, message)))
    return Farewell(TRY_AGAIN, "come back in a moment")


async def _hear(websocket: WebSocket, attendance: Attendance) -> None:
    """What a page sends is of no interest; that it is there is."""
    while (await websocket.receive())["type"] != "websocket.disconnect":
        attendance.heard()
