"""The gateway's role: where it listens, what it refuses, and how it ends."""

from __future__ import annotations

import asyncio
import socket
import ssl
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
import trustme

from inferflow.app.gateway import Behind, start_gateway
from inferflow.app.gateway_before import gateway_before
from inferflow.app.gateway_certificates import follow_certificates
from inferflow.app.settings import Settings, read_settings
from inferflow.errors import InvalidInput

QUIET = {"port": 0, "drain_pause": 0}


def settings(tmp_path: Path, **gateway: Any) -> Settings:
    found = read_settings(tmp_path)
    table = found.gateway.model_copy(update={**QUIET, **gateway})
    return found.model_copy(update={"gateway": table})


def test_it_answers_without_an_orchestrator_and_says_that_it_is_not_ready(tmp_path: Path) -> None:
    async def main() -> tuple[int, int, str]:
        gateway = await start_gateway(settings(tmp_path), Behind(target="127.0.0.1:9"))
        try:
            async with httpx.AsyncClient(base_url=gateway.url) as client:
                live = await client.get("/health/live")
                ready = await client.get("/health/ready")
                return live.status_code, ready.status_code, ready.text
        finally:
            await gateway.drain()

    assert asyncio.run(main()) == (200, 503, "no orchestrator answers")


@pytest.mark.scenario("I7")
def test_a_port_that_is_taken_is_refused(tmp_path: Path) -> None:
    async def main() -> None:
        first = await start_gateway(settings(tmp_path), Behind(target="127.0.0.1:9"))
        try:
            taken = settings(tmp_path, port=first.http.port)
            with pytest.raises(InvalidInput, match="cannot listen on"):
                await start_gateway(taken, Behind(target="127.0.0.1:9"))
        finally:
            await first.drain()

    asyncio.run(main())


def test_beyond_this_machine_it_must_know_its_callers(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="INFERFLOW_KEYS_FILE"):
        asyncio.run(start_gateway(settings(tmp_path, bind="0.0.0.0")))


def serial(port: int, authority: trustme.CA) -> int:
    """Of the certificate that a server shows."""
    context = ssl.create_default_context()
    authority.configure_trust(context)
    with (
        socket.create_connection(("127.0.0.1", port)) as plain,
        context.wrap_socket(plain, server_hostname="127.0.0.1") as private,
    ):
        shown: Any = private.getpeercert()
        return int(shown["serialNumber"], 16)


def test_a_renewed_certificate_is_taken_up_while_it_answers(tmp_path: Path) -> None:
    authority = trustme.CA()
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"

    def write() -> None:
        made = authority.issue_cert("127.0.0.1")
        made.cert_chain_pems[0].write_to_path(cert)
        made.private_key_pem.write_to_path(key)

    write()
    found = settings(tmp_path)
    tls = found.tls.model_copy(update={"cert": str(cert), "key": str(key)})
    found = found.model_copy(update={"tls": tls})

    async def main() -> None:
        gateway = await start_gateway(found, Behind(target="127.0.0.1:9"))
        following = asyncio.ensure_future(
            follow_certificates(tls, gateway.http, grace_s=1, look_every_s=0.01)
        )
        try:
            assert gateway.url.startswith("https://")
            first = await asyncio.to_thread(serial, gateway.http.port, authority)
            await asyncio.sleep(0)
            write()
            async with asyncio.timeout(20):
                while await asyncio.to_thread(serial, gateway.http.port, authority) == first:
                    await asyncio.sleep(0.01)
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await gateway.drain()

    asyncio.run(main())


def test_a_renewal_that_fails_is_tried_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"

    def write() -> None:
        made = trustme.CA().issue_cert("127.0.0.1")
        made.cert_chain_pems[0].write_to_path(cert)
        made.private_key_pem.write_to_path(key)

    write()
    tls = settings(tmp_path).tls.model_copy(update={"cert": str(cert), "key": str(key)})
    tries: list[float] = []
    renewed = asyncio.Event()

    async def renew(grace_s: float) -> None:
        tries.append(grace_s)
        if len(tries) == 1:
            raise InvalidInput("not now")
        renewed.set()

    async def main() -> None:
        http: Any = SimpleNamespace(renew=renew)
        following = asyncio.ensure_future(
            follow_certificates(tls, http, grace_s=1, look_every_s=0.001)
        )
        await asyncio.sleep(0)
        write()
        async with asyncio.timeout(20):
            await renewed.wait()
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)

    asyncio.run(main())
    assert "certificate_not_renewed" in [each.message for each in caplog.records]


@pytest.mark.parametrize("rate", ["often", "10/fortnight", "x/second"])
def test_a_rate_that_is_none_is_refused_when_settings_are_read(
    tmp_path: Path, rate: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFERFLOW_GATEWAY_RATE", rate)
    with pytest.raises(InvalidInput, match="100/second"):
        read_settings(tmp_path)


def told_before(found: Settings) -> list[tuple[str, str]]:
    """What is said when a project is served with a gateway before it."""
    told: list[tuple[str, str]] = []
    role: Any = SimpleNamespace(settings=found)
    serving: Any = SimpleNamespace()

    async def main() -> None:
        async with gateway_before(role, serving, told=lambda *said: told.append(said)):
            pass

    asyncio.run(main())
    return told


def test_a_project_may_want_no_gateway(tmp_path: Path) -> None:
    assert told_before(settings(tmp_path, enabled=False)) == []


def test_without_the_extra_a_project_is_served_and_told_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "inferflow.app.gateway", None)
    assert told_before(settings(tmp_path)) == [
        ("", "HTTP and the web pages needs: pip install 'inferflow[gateway]'")
    ]
