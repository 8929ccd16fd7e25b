"""What stands before the routes of WebSockets: as many as there is room for, each told why it is
closed.

The server below closes a socket that sends a frame of more than 16 MiB, or what is no frame at all,
without a word; it can still be told the code. Nothing of such a frame is kept.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inferflow.api.gateway.open_sockets import OpenSockets
from inferflow.api.gateway.ports import Bounds
from inferflow.api.gateway.shielding import SOCKET, refuse, source_of
from inferflow.errors import TooManySockets

TOO_BIG = 1009
_NO_CODE = 1005
_UNREADABLE = "the message is too large, or is none"
_WITHIN_S = 5.0


class SocketShield:
    def __init__(self, app: ASGIApp, *, bounds: Bounds) -> None:
        self._app = app
        self._open = OpenSockets(bounds.sockets, bounds.sockets_each)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != SOCKET:
            await self._app(scope, receive, send)
            return
        try:
            seat = self._open.enter(source_of(scope))
        except TooManySockets as refused:
            await refuse(refused, scope, receive, send)
            return
        scope["state"] = {**scope.get("state", {}), "seat": seat}
        try:
            await self._app(scope, _saying_why(receive, send), send)
        finally:
            seat.leave()


def _saying_why(receive: Receive, send: Send) -> Receive:
    async def received() -> Message:
        message = await receive()
        if message["type"] == "websocket.disconnect" and message.get("code") == _NO_CODE:
            with suppress(TimeoutError, OSError, RuntimeError):  # most have left by themselves
                async with asyncio.timeout(_WITHIN_S):
                    await send({"type": "websocket.close", "code": TOO_BIG, "reason": _UNREADABLE})
        return message

    return received
