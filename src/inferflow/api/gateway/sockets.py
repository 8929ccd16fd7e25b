"""Conversations over a WebSocket: a text comes, its answer goes back, in the order they came.

Some answers may be on their way at a time; whoever sends more than that is not read from until
there is room, so a fast sender waits in its own buffers and not in ours.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from fastapi import WebSocket

from inferflow.api.gateway.attending import (
    LEAVING,
    PONG,
    Attendance,
    Farewell,
    first_of,
    is_ping,
    part,
    send_text,
)
from inferflow.api.gateway.beside import beside
from inferflow.api.gateway.door import admit_socket, readmit
from inferflow.api.gateway.failing import UNEXPECTED, problem_response, refusal
from inferflow.api.gateway.ports import Beside, Caller, Ports
from inferflow.api.gateway.socket_shield import TOO_BIG
from inferflow.api.gateway.tracing import traced_message
from inferflow.errors import InferflowError

log = logging.getLogger(__name__)

AHEAD = 16
_NO_TEXT = 1003

Answer = Callable[[str, Beside], Awaitable[bytes]]
"""What the caller did wrong is an answer, too."""


async def converse(websocket: WebSocket, answer: Answer, ports: Ports) -> None:
    """Until the caller leaves, or has to."""
    caller = await admit_socket(websocket)
    about = beside(websocket, caller, ports.bounds)
    attendance = Attendance(websocket, caller, ports.bounds)
    talk = _Conversation(websocket, answer, caller, about)
    try:
        farewell = await first_of(
            talk.send(),
            talk.read(attendance, ports.bounds.body_bytes),
            talk.part(ports.leaving),
            attendance.watch(),
        )
    finally:
        talk.give_up()
    await part(websocket, farewell)


class _Conversation:
    def __init__(self, websocket: WebSocket, answer: Answer, caller: Caller, about: Beside) -> None:
        self._websocket = websocket
        self._answer = answer
        self._caller = caller
        self._about = about
        self._room = asyncio.Semaphore(AHEAD)
        self._pending: asyncio.Queue[asyncio.Task[bytes]] = asyncio.Queue()

    async def read(self, attendance: Attendance, most: int) -> Farewell:
        """Take what comes, until it cannot be taken. Raises WebSocketDisconnect."""
        while True:
            try:
                text = await self._websocket.receive_text()
            except KeyError:  # what came has no text
                return Farewell(_NO_TEXT, "messages are texts, not bytes")
            attendance.heard()
            if len(text) > most:
                return Farewell(TOO_BIG, f"the message is larger than {most} bytes")
            await self._room.acquire()
            self._pending.put_nowait(asyncio.ensure_future(self._answered(text)))

    async def send(self) -> None:
        """Answers as they are there. Raises OSError when they are not read."""
        while True:
            task = await self._pending.get()
            try:
                await send_text(self._websocket, (await task).decode())
            finally:
                task.cancel()
                self._room.release()  # or whoever waits for room would wait for ever

    async def part(self, leaving: asyncio.Event) -> Farewell:
        """Ends when the gateway is about to, after what was asked is answered."""
        await leaving.wait()
        for _ in range(AHEAD):
            await self._room.acquire()
        return Farewell(LEAVING, "this gateway is leaving")

    def give_up(self) -> None:
        """Whatever is under way is for nobody any more."""
        while not self._pending.empty():
            self._pending.get_nowait().cancel()

    async def _answered(self, text: str) -> bytes:
        path, request_id = self._websocket.url.path, self._about.request_id
        if is_ping(text):
            return PONG
        try:
            with traced_message(self._websocket.scope):
                await readmit(self._websocket, self._caller)
                return await self._answer(text, self._about)
        except InferflowError as refused:
            return bytes(refusal(refused, path, request_id).body)
        except Exception:  # the boundary of a message: the conversation goes on
            log.exception("stream_failed", extra={"path": path, "request_id": request_id})
            return bytes(problem_response(path, 500, UNEXPECTED, request_id).body)
