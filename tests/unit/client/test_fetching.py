"""A page over HTTP, with what it takes to be let in."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from tests.servers.certificates import Certificates

import inferflow
from inferflow.api.http import Reply, shown_key, start_http
from inferflow.client.fetching import fetched
from inferflow.errors import Unreachable
from inferflow.rpc.tls import TlsFiles
from inferflow.rpc.tls_server import ServerTls


def test_a_page_is_fetched_with_key_and_certificate(tmp_path: Path) -> None:
    certs = Certificates(tmp_path)
    cert, key = map(str, certs.server())
    server = ServerTls(TlsFiles(cert, key, str(certs.ca)), client_auth="required")

    async def run() -> None:
        routes = {"/who": lambda: Reply(shown_key().encode())}
        http = await start_http(routes, tls=server.http_context())
        url = f"https://localhost:{http.port}/who"
        tls = inferflow.Tls(certs.ca, *certs.client())
        assert await asyncio.to_thread(fetched, url, key="ifk_x", tls=tls) == b"ifk_x"
        with pytest.raises(Unreachable):
            await asyncio.to_thread(fetched, url, tls=inferflow.Tls(certs.ca))
        await http.close()

    asyncio.run(run())


def test_a_key_is_not_shown_to_others_in_plain_text(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []

    def opening(asked: object, **_: object) -> None:
        seen.append(asked.headers)  # type: ignore[attr-defined]
        raise OSError("nobody there")

    monkeypatch.setattr("urllib.request.urlopen", opening)
    for url in ("http://elsewhere/x", "http://127.0.0.1/x", "https://elsewhere/x"):
        with pytest.raises(Unreachable, match="nobody there"):
            fetched(url, key="ifk_x")
    assert [bool(headers) for headers in seen] == [False, True, True]
