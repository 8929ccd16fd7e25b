"""Questions to every process of a server."""

from __future__ import annotations

import asyncio
import json

from inferflow.api.http import HttpServer, Reply, start_http
from inferflow.app.processes.asking import (
    EVERYONE,
    ask,
    everyone_at,
    everyone_through,
    passed_on,
)


async def process(name: str) -> HttpServer:
    def told(target: str) -> Reply:
        return Reply(f"{name} {target}".encode(), 404 if "absent" in target else 200)

    return await start_http({}, trees={"/who": told})


def test_the_parent_and_any_child_get_the_answers_of_all() -> None:
    async def asked() -> tuple[list[Reply], list[Reply]]:
        one, other = await process("one"), await process("other")
        everyone = everyone_at(lambda: [one.port, other.port])
        parent = await start_http({}, trees={EVERYONE: passed_on(everyone)})
        answers = (
            await everyone("/who/knows?x=1"),
            await everyone_through(parent.port)("/who/knows?x=1"),
        )
        for server in (one, other, parent):
            await server.close()
        return answers

    direct, through = asyncio.run(asked())
    assert [each.body for each in direct] == [b"one /who/knows?x=1", b"other /who/knows?x=1"]
    assert through == direct


def test_a_process_that_is_gone_is_passed_over_and_what_it_has_not_is_told() -> None:
    async def asked() -> tuple[list[Reply], Reply | None, list[Reply]]:
        one, gone = await process("one"), await process("gone")
        await gone.close()
        found = await everyone_at(lambda: [gone.port, one.port])("/who?absent")
        alone = await ask(gone.port, "/who")
        orphaned = await everyone_through(gone.port)("/who")
        await one.close()
        return found, alone, orphaned

    found, alone, orphaned = asyncio.run(asked())
    assert [each.status for each in found] == [404]
    assert alone is None
    assert orphaned == []


def test_a_process_that_hangs_is_not_waited_for_long() -> None:
    async def asked() -> Reply | None:
        hung = asyncio.Event()

        async def never(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await hung.wait()
            writer.close()

        server = await asyncio.start_server(never, "127.0.0.1", 0)
        answer = await ask(server.sockets[0].getsockname()[1], "/who", patience_s=0.01)
        hung.set()
        server.close()
        await server.wait_closed()
        await asyncio.sleep(0)
        return answer

    assert asyncio.run(asked()) is None


def test_bodies_travel_as_they_are() -> None:
    text = json.dumps({"name": "é" * 1000})

    async def asked() -> list[Reply]:
        server = await start_http({"/doc": lambda: Reply(text.encode())})
        parent = await start_http(
            {}, trees={EVERYONE: passed_on(everyone_at(lambda: [server.port]))}
        )
        answers = await everyone_through(parent.port)("/doc")
        await server.close()
        await parent.close()
        return answers

    assert [each.body.decode() for each in asyncio.run(asked())] == [text]
