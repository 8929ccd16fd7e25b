"""Connections that are private, and certificates that change while they are used."""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import grpc
import pytest
from cryptography import x509
from tests.servers.certificates import Certificates

from inferflow.api.http import Reply, start_http
from inferflow.errors import InvalidInput
from inferflow.rpc.channel import open_blocking_channel, open_channel
from inferflow.rpc.options import ChannelOptions
from inferflow.rpc.renewed_channel import RenewedChannel
from inferflow.rpc.server import start_server
from inferflow.rpc.tls import Certificates as Read
from inferflow.rpc.tls import Pems, TlsFiles
from inferflow.rpc.tls_channel import ChannelTls
from inferflow.rpc.tls_server import ServerTls

PATH = "/Who/AmI"


@pytest.fixture
def certs(tmp_path: Path) -> Certificates:
    return Certificates(tmp_path / "certs")


def server_tls(certs: Certificates, **options: Any) -> ServerTls:
    cert, key = certs.server()
    return ServerTls(TlsFiles(str(cert), str(key), str(certs.ca)), **options)


def trusting(
    certs: Certificates, pair: tuple[Path, Path] | None = None, name: str = ""
) -> ChannelTls:
    cert, key = pair or ("", "")
    return ChannelTls(TlsFiles(str(cert), str(key), str(certs.ca)), name)


@asynccontextmanager
async def answering(tls: ServerTls) -> AsyncIterator[int]:
    """A server that answers with the names in its caller's certificate."""

    async def who(_: bytes, context: Any) -> bytes:
        known = context.auth_context()
        return b",".join(known.get("x509_common_name", ()))

    handler: Any = {"AmI": grpc.unary_unary_rpc_method_handler(who)}
    handlers = [grpc.method_handlers_generic_handler("Who", handler)]
    server = await start_server(handlers, services=(), tls=tls)
    try:
        yield server.port
    finally:
        await server.stop()


async def asked(port: int, tls: ChannelTls | None, host: str = "localhost") -> str:
    options = ChannelOptions(attempts=1, own_connection=True, tls=tls)
    channel = open_channel(f"{host}:{port}", options)
    try:
        call: Any = channel.unary_unary(PATH)
        body: bytes = await call(b"", timeout=5)
        return body.decode() or "OK"
    except grpc.aio.AioRpcError as refused:
        return str(refused.code().name)
    finally:
        await channel.close()


def test_a_client_that_trusts_the_authority_is_answered_and_no_other(
    certs: Certificates, tmp_path: Path
) -> None:
    other = Certificates(tmp_path / "other")

    async def run() -> None:
        async with answering(server_tls(certs)) as port:
            assert await asked(port, trusting(certs)) == "OK"
            assert await asked(port, trusting(certs), "127.0.0.1") == "OK"
            assert await asked(port, trusting(certs, name="localhost"), "127.0.0.1") == "OK"
            assert await asked(port, trusting(certs, name="elsewhere")) == "UNAVAILABLE"
            assert await asked(port, trusting(other)) == "UNAVAILABLE"
            assert await asked(port, None) == "UNAVAILABLE"

    asyncio.run(run())


@pytest.mark.scenario("G10")
def test_a_server_that_asks_for_certificates_lets_in_those_of_its_authority(
    certs: Certificates, tmp_path: Path
) -> None:
    other = Certificates(tmp_path / "other")
    expired = Certificates(tmp_path / "old", age_days=20)

    async def run() -> None:
        tls = server_tls(certs, client_auth="required")
        async with answering(tls) as port:
            assert await asked(port, trusting(certs, certs.client("web"))) == "web"
            assert await asked(port, trusting(certs)) == "UNAVAILABLE"
            assert await asked(port, trusting(certs, other.client())) == "UNAVAILABLE"
            assert await asked(port, trusting(certs, expired.client())) == "UNAVAILABLE"

    asyncio.run(run())


def test_several_servers_are_checked_for_one_name(certs: Certificates) -> None:
    async def run() -> None:
        async with answering(server_tls(certs)) as one, answering(server_tls(certs)) as two:
            addresses = f"127.0.0.1:{one},127.0.0.1:{two}"
            channel = open_channel(addresses, ChannelOptions(attempts=1, tls=trusting(certs)))
            call: Any = channel.unary_unary(PATH)
            assert await call(b"", timeout=5) == b""
            await channel.close()

    asyncio.run(run())


def test_a_blocking_channel_speaks_tls_too(certs: Certificates) -> None:
    async def run() -> None:
        async with answering(server_tls(certs)) as port:
            options = ChannelOptions(attempts=1, tls=trusting(certs, certs.client("batch")))

            def ask() -> bytes:
                with open_blocking_channel(f"localhost:{port}", options) as channel:
                    call: Any = channel.unary_unary(PATH)
                    answer: bytes = call(b"", timeout=5)
                    return answer

            tls = server_tls(certs, client_auth="required")
            assert await asyncio.to_thread(ask) == b""  # not asked for, so not shown
            async with answering(tls) as port:  # noqa: PLW2901
                assert await asyncio.to_thread(ask) == b"batch"

    asyncio.run(run())


@pytest.mark.scenario("B7")
def test_a_renewed_certificate_is_shown_to_new_connections_without_a_failed_call(
    certs: Certificates,
) -> None:
    async def run() -> None:
        async with answering(server_tls(certs)) as port:
            before = served_serial(port)
            assert await asyncio.to_thread(before) == serial(certs)
            channel = open_channel(f"localhost:{port}", ChannelOptions(tls=trusting(certs)))
            call: Any = channel.unary_unary(PATH)
            for _ in range(5):
                assert await call(b"", timeout=5) == b""
                certs.server()
                assert await call(b"", timeout=5) == b""
                assert await asked(port, trusting(certs)) == "OK"
                assert await asyncio.to_thread(served_serial(port)) == serial(certs)
            await channel.close()

    asyncio.run(run())


def serial(certs: Certificates) -> int:
    pem = (certs.folder / "server.pem").read_bytes()
    return x509.load_pem_x509_certificate(pem).serial_number


def served_serial(port: int) -> Any:
    """What a new connection is shown, in a thread that may wait."""

    def look() -> int:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
        context.set_alpn_protocols(["h2"])
        with (
            socket.create_connection(("127.0.0.1", port), 5) as plain,
            context.wrap_socket(plain) as wrapped,
        ):
            found = wrapped.getpeercert(binary_form=True)
        assert found is not None
        return x509.load_der_x509_certificate(found).serial_number

    return look


@pytest.mark.scenario("B7")
def test_files_that_do_not_belong_together_are_not_taken_up(
    certs: Certificates, caplog: pytest.LogCaptureFixture
) -> None:
    cert, key = certs.server()
    read = Read(TlsFiles(str(cert), str(key)))
    first = read.current()
    assert read.current() is first
    whole = cert.read_bytes()
    with caplog.at_level(logging.WARNING):
        cert.write_bytes(certs.client("other")[0].read_bytes())
        assert read.current() is first
        assert read.current() is first
    assert [each.message for each in caplog.records] == ["certificates_refused"]
    cert.unlink()
    assert read.current() is first
    cert.write_bytes(whole)
    certs.server()
    assert read.current() is not first


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"key": ""}, r"tls\.cert: there is no tls\.key"),
        ({"cert": ""}, r"tls\.key: there is no tls\.cert"),
        ({"cert": "none.pem"}, r"none\.pem: No such file"),
        ({"cert": "CA"}, "no PEM certificate with its key"),
        ({"ca": "KEY"}, "no PEM certificates"),
    ],
)
def test_files_that_cannot_be_used_are_refused_at_once(
    certs: Certificates, change: dict[str, str], what: str
) -> None:
    cert, key = map(str, certs.server())
    known = {"CA": str(certs.ca), "KEY": key}
    given = {"cert": cert, "key": key, "ca": str(certs.ca)}
    given |= {name: known.get(value, value) for name, value in change.items()}
    with pytest.raises(InvalidInput, match=what):
        Read(TlsFiles(**given))


def test_files_that_are_being_replaced_are_waited_for_once_more(
    certs: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    cert, key = certs.server()
    new_cert, _ = certs.server("other")
    fitting = cert.read_bytes()
    cert.write_bytes(new_cert.read_bytes())  # with the key of another
    waited: list[float] = []

    def moment(seconds: float) -> None:
        waited.append(seconds)
        cert.write_bytes(fitting)

    monkeypatch.setattr("inferflow.rpc.tls.time.sleep", moment)
    assert Read(TlsFiles(str(cert), str(key))).current().cert == fitting
    assert len(waited) == 1


def test_to_ask_clients_for_certificates_takes_an_authority(certs: Certificates) -> None:
    cert, key = map(str, certs.server())
    with pytest.raises(InvalidInput, match=r"tls\.ca: to ask clients"):
        ServerTls(TlsFiles(cert, key), client_auth="required")
    with pytest.raises(InvalidInput, match=r"tls\.cert: a server needs"):
        ServerTls(TlsFiles(ca=str(certs.ca)))


def test_a_client_takes_up_its_new_certificate_while_calls_go_on(certs: Certificates) -> None:
    now = [0.0]

    async def run() -> None:
        async with answering(server_tls(certs, client_auth="required")) as port:
            cert, key = map(str, certs.client("old"))
            opened = 0

            def opening(shown: grpc.ChannelCredentials) -> grpc.aio.Channel:
                nonlocal opened
                opened += 1
                local = (("grpc.use_local_subchannel_pool", 1),)
                return grpc.aio.secure_channel(f"localhost:{port}", shown, options=local)

            files = TlsFiles(cert, key, str(certs.ca))
            channel = RenewedChannel(files, opening, clock=lambda: now[0])
            call = channel.unary_unary(PATH)
            assert await call(b"", timeout=5) == b"old"
            issued = certs.authority.issue("new")
            Path(key).write_bytes(issued.key)
            Path(cert).write_bytes(issued.cert)
            assert await call(b"", timeout=5) == b"old"  # not looked at yet
            now[0] = 2.0
            assert await call(b"", timeout=5) == b"new"
            assert await call(b"", timeout=5) == b"new"
            assert opened == 2
            await channel.close()

    asyncio.run(run())


# --- HTTP -----------------------------------------------------------------------------------


async def fetched(port: int, context: ssl.SSLContext) -> str:
    try:
        reader, writer = await asyncio.open_connection("localhost", port, ssl=context)
        writer.write(b"GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n")
        line = await reader.readline()
        writer.close()
        return line.decode().strip()
    except (ssl.SSLError, ConnectionError) as refused:
        return type(refused).__name__


def client_context(certs: Certificates, pair: tuple[Path, Path] | None = None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(certs.ca))
    if pair is not None:
        context.load_cert_chain(*pair)
    return context


def test_http_is_private_too_and_its_certificate_and_authority_can_be_replaced(
    certs: Certificates, tmp_path: Path
) -> None:
    other = Certificates(tmp_path / "other")

    async def run() -> None:
        tls = server_tls(certs, client_auth="required")
        routes = {"/health/live": lambda: Reply(b"ok\n")}
        http = await start_http(routes, tls=tls.http_context())
        ok = "HTTP/1.1 200 OK"
        mine = client_context(certs, certs.client())
        assert await fetched(http.port, mine) == ok
        assert await fetched(http.port, client_context(certs)) != ok
        assert await fetched(http.port, client_context(other, other.client())) != ok
        certs.ca.write_bytes(other.ca.read_bytes())
        cert, key = other.server()
        (certs.folder / "server-key.pem").write_bytes(key.read_bytes())
        (certs.folder / "server.pem").write_bytes(cert.read_bytes())
        assert await fetched(http.port, client_context(other, other.client())) == ok
        assert await fetched(http.port, mine) != ok
        await http.close()

    asyncio.run(run())


def test_files_that_change_again_while_they_are_taken_up_cut_off_nobody(
    certs: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    cert, key = certs.server()
    tls = ServerTls(TlsFiles(str(cert), str(key)))
    context = tls.http_context()
    choose: Any = context.sni_callback
    connection = SimpleNamespace(context=None)
    choose(connection, None, context)
    before = connection.context
    good = key.read_bytes()
    renewed = Pems(cert.read_bytes(), good, b"")
    monkeypatch.setattr(tls._certificates, "current", lambda: renewed)
    key.write_bytes(b"half a key")
    choose(connection, None, context)
    assert connection.context is before
    key.write_bytes(good)
    choose(connection, None, context)
    assert connection.context is not before


def test_probes_may_be_spared_a_certificate(certs: Certificates) -> None:
    async def run() -> None:
        tls = server_tls(certs, client_auth="required", http_client_auth="off")
        http = await start_http({"/health/live": lambda: Reply(b"ok\n")}, tls=tls.http_context())
        assert await fetched(http.port, client_context(certs)) == "HTTP/1.1 200 OK"
        await http.close()

    asyncio.run(run())
