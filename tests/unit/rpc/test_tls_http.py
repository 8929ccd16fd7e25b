"""Pages fetched over TLS: from whom, and with what certificate."""

from __future__ import annotations

import asyncio
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from inferflow.api.http import Reply, start_http
from inferflow.rpc.tls import TlsFiles
from inferflow.rpc.tls_channel import ChannelTls
from inferflow.rpc.tls_http import HttpsContexts
from inferflow.rpc.tls_server import ServerTls

from ...servers.certificates import Certificates


@pytest.fixture
def certs(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path / "certs")


def calling(certs: Certificates, *, name: str = "", shows: bool = True) -> HttpsContexts:
    shown = map(str, certs.client()) if shows else ("", "")
    return HttpsContexts(ChannelTls(TlsFiles(*shown, str(certs.ca)), name))


def test_a_page_is_fetched_from_a_server_that_asks_for_a_certificate(
    certs: Certificates, tmp_path: Path
) -> None:
    cert, key = certs.server(hosts=("metrics.internal",))
    tls = ServerTls(TlsFiles(str(cert), str(key), str(certs.ca)), client_auth="required")
    other = Certificates(tmp_path / "other")

    async def run() -> list[str]:
        http = await start_http({"/": lambda: Reply(b"page")}, tls=tls.http_context())

        def fetched(by: HttpsContexts) -> str:
            url = f"https://127.0.0.1:{http.port}/"
            try:
                with urllib.request.urlopen(url, timeout=5, context=by.current()) as answer:
                    return str(answer.read().decode())
            except OSError:
                return "refused"

        try:
            ways = [
                calling(certs, name="metrics.internal"),
                calling(certs),
                calling(certs, name="metrics.internal", shows=False),
                calling(other, name="metrics.internal"),
            ]
            return [await asyncio.to_thread(fetched, each) for each in ways]
        finally:
            await http.close()

    assert asyncio.run(run()) == ["page", "refused", "refused", "refused"]


def test_a_context_is_made_anew_when_its_files_change(certs: Certificates) -> None:
    contexts = calling(certs)
    first = contexts.current()
    assert contexts.current() is first
    certs.client()
    assert contexts.current() is not first
