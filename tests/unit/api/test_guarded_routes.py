"""What is inside is shown over HTTP to those who may view it."""

from __future__ import annotations

import asyncio
import ssl
from pathlib import Path

from tests.servers.certificates import Certificates

from inferflow.access import Gate, KeyCard, ModelPatterns, OpenGate, Permission
from inferflow.api.guarded_routes import guarded_trees
from inferflow.api.http import Reply, start_http
from inferflow.errors import Unauthenticated
from inferflow.rpc.tls import TlsFiles
from inferflow.rpc.tls_server import ServerTls


def card(*may: Permission) -> KeyCard:
    return KeyCard("k1", "ops", frozenset(may), ModelPatterns(), 0)


class Keys:
    async def identify(self, key: str) -> KeyCard:
        known = {"viewer": Permission.VIEW, "shop": Permission.INFERENCE}
        if key not in known:
            raise Unauthenticated("no")
        return card(known[key])


async def asked(port: int, key: str = "", context: ssl.SSLContext | None = None) -> str:
    """The head of the answer."""
    reader, writer = await asyncio.open_connection("localhost", port, ssl=context)
    shown = f"authorization: bearer {key}\r\n" if key else ""
    writer.write(f"GET /configs HTTP/1.1\r\nHost: localhost\r\n{shown}\r\n".encode())
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    writer.close()
    return head


TREES = {"/configs": lambda _: Reply(b"inside\n")}


def test_a_key_that_may_view_is_shown_what_is_inside() -> None:
    async def run() -> None:
        gate = Gate([Keys()], lambda: 0.0)
        http = await start_http({}, trees=guarded_trees(TREES, gate))
        assert "200 OK" in await asked(http.port, "viewer")
        assert "403 Forbidden" in await asked(http.port, "shop")
        nobody = await asked(http.port)
        assert "401 Unauthorized" in nobody
        assert "WWW-Authenticate: Bearer" in nobody
        await http.close()

    asyncio.run(run())


def test_so_is_a_certificate_that_is_known(tmp_path: Path) -> None:
    certs = Certificates(tmp_path)
    cert, key = map(str, certs.server())
    tls = ServerTls(TlsFiles(cert, key, str(certs.ca)), client_auth="required")
    known = {"spiffe://shop/ops": card(Permission.VIEW)}

    async def run() -> None:
        gate = Gate([Keys()], lambda: 0.0, certificates=known)
        trees = guarded_trees(TREES, gate)
        http = await start_http({}, trees=trees, tls=tls.http_context())
        for uri, found in (("spiffe://shop/ops", "200 OK"), ("spiffe://x", "401 Unauthorized")):
            context = ssl.create_default_context(cafile=str(certs.ca))
            context.load_cert_chain(*certs.client("web", uri))
            assert found in await asked(http.port, "", context)
        await http.close()

    asyncio.run(run())


def test_an_open_gate_leaves_routes_as_they_are() -> None:
    assert guarded_trees(TREES, OpenGate()) == TREES
