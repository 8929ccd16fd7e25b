"""Questions to every process of a server, the parent included, over their private HTTP.

The parent asks its children directly. A child asks the parent, who alone knows them all. Either
way whoever asks holds an `Everyone`, and need not know where it is. A process that does not
answer in time is passed over; it never holds up the others.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress

from inferflow.api.http import JSON, Reply, TreeRoute

PATIENCE_S = 2.0
EVERYONE = "/everyone"
"""The tree under which a parent passes questions on."""
_LONGEST = 256 * 1024 * 1024

Everyone = Callable[[str], Awaitable[list[Reply]]]
"""Asks every process for a path and query, such as `/recordings?last=3`; the answers there are."""


async def ask(port: int, target: str, *, patience_s: float = PATIENCE_S) -> Reply | None:
    """What the process that listens there answers; None when it does not."""
    with suppress(OSError, TimeoutError, asyncio.IncompleteReadError, ValueError, LookupError):
        async with asyncio.timeout(patience_s):
            return await _asked(port, target)
    return None


async def _asked(port: int, target: str) -> Reply:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=_LONGEST)
    try:
        writer.write(f"GET {target} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode("latin-1"))
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        first, *rest = head.splitlines()
        headers = {
            name.lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)
        }
        body = await reader.readexactly(int(headers["content-length"]))
        return Reply(body, int(first.split()[1]), headers["content-type"])
    finally:
        writer.close()


def everyone_at(ports: Callable[[], Sequence[int]]) -> Everyone:
    """For the parent: all that listen at the time, answers in their order."""

    async def ask_all(target: str) -> list[Reply]:
        answers = await asyncio.gather(*(ask(port, target) for port in ports()))
        return [answer for answer in answers if answer is not None]

    return ask_all


def passed_on(everyone: Everyone) -> TreeRoute:
    """For the parent: lets children ask each other, under `EVERYONE`."""

    async def route(target: str) -> Reply:
        answers = await everyone(target.removeprefix(EVERYONE))
        listed = [[each.body.decode(), each.status, each.content_type] for each in answers]
        return Reply(json.dumps(listed).encode(), content_type=JSON)

    return route


def everyone_through(parent_port: int) -> Everyone:
    """For a child: the same, itself included. Nobody answers when the parent is gone."""

    async def ask_all(target: str) -> list[Reply]:
        answer = await ask(parent_port, f"{EVERYONE}{target}", patience_s=2 * PATIENCE_S)
        if answer is None or answer.status != 200:
            return []
        return [Reply(body.encode(), *rest) for body, *rest in json.loads(answer.body)]

    return ask_all
