"""The small HTTP server."""

from __future__ import annotations

import asyncio

import pytest

from inferflow.api.http import Reply, Route, TreeRoute, start_http
from inferflow.errors import InvalidInput


async def later() -> Reply:
    await asyncio.sleep(0)
    return Reply(b"worth the wait")


def broken() -> Reply:
    raise ZeroDivisionError


ROUTES: dict[str, Route] = {
    "/health/self": lambda: Reply(b"true"),
    "/sick": lambda: Reply(b"draining", 503),
    "/later": later,
    "/broken": broken,
}
TREES: dict[str, TreeRoute] = {"/shelf": lambda target: Reply(target.encode())}


def ask(request: bytes) -> bytes:
    async def asked() -> bytes:
        server = await start_http(ROUTES, trees=TREES)
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(request)
        answer = await reader.read()
        writer.close()
        await server.close()
        return answer

    return asyncio.run(asked())


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_a_route_answers_any_method(method: str) -> None:
    answer = ask(f"{method} /health/self?x=1 HTTP/1.1\r\nHost: a\r\n\r\n".encode())
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Content-Length: 4" in head
    assert body == b"true"


def test_head_gets_the_head_only() -> None:
    assert ask(b"HEAD /health/self HTTP/1.1\r\n\r\n").endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /nothing HTTP/1.1\r\n\r\n", b"404 Not Found"),
        (b"GET /sick HTTP/1.0\r\n\r\n", b"503 Service Unavailable"),
        (b"GET /broken HTTP/1.1\r\n\r\n", b"500 Internal Server Error"),
        (b"GET /shelfish HTTP/1.1\r\n\r\n", b"404 Not Found"),
        (b"garbage\r\n\r\n", b"400 Bad Request"),
        (b"GET /health/self HTTP/2\r\n\r\n", b"400 Bad Request"),
    ],
)
def test_other_answers(request_: bytes, status: bytes) -> None:
    assert ask(request_).split(b"\r\n")[0] == b"HTTP/1.1 " + status


def test_a_route_may_take_its_time() -> None:
    assert ask(b"GET /later HTTP/1.1\r\n\r\n").endswith(b"\r\n\r\nworth the wait")


@pytest.mark.parametrize("target", ["/shelf", "/shelf/7", "/shelf?last=3"])
def test_a_tree_answers_for_everything_below_it_and_sees_what_was_asked(target: str) -> None:
    answer = ask(f"GET {target} HTTP/1.1\r\n\r\n".encode())
    assert answer.endswith(b"\r\n\r\n" + target.encode())


def test_a_head_without_end_is_cut_off() -> None:
    assert ask(b"GET /" + b"x" * 100_000) == b""


def test_a_taken_port_is_told() -> None:
    async def twice() -> None:
        first = await start_http(ROUTES)
        try:
            await start_http(ROUTES, port=first.port)
        finally:
            await first.close()

    with pytest.raises(InvalidInput, match=r"cannot listen on 127.0.0.1:\d+ for HTTP"):
        asyncio.run(twice())


def test_silent_clients_cannot_keep_out_one_that_speaks() -> None:
    async def asked() -> tuple[bytes, bytes, bytes]:
        server = await start_http(ROUTES, max_connections=2)
        silent = [await asyncio.open_connection("127.0.0.1", server.port) for _ in range(2)]
        for _, writer in silent:
            writer.write(b"GET /health/self HTTP/1.1\r\n")
        # Answered, so both of the others have been seen.
        first = await _get(server.port)
        second = await _get(server.port)
        cut_off = await silent[0][0].read()
        for _, writer in silent:
            writer.close()
        await server.close()
        return first, second, cut_off

    first, second, cut_off = asyncio.run(asked())
    assert first.endswith(b"true")
    assert second.endswith(b"true")
    assert cut_off == b""


async def _get(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(b"GET /health/self HTTP/1.1\r\n\r\n")
    answer = await reader.read()
    writer.close()
    return answer
