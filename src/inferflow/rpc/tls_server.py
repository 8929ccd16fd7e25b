"""The server's side of TLS, for gRPC and for HTTP, from the same files.

Each new connection gets the certificate that is in the files then; connections that are up go on
as they are. So a certificate is renewed by replacing files, and nobody notices.
"""

from __future__ import annotations

import ssl
import threading
from contextlib import suppress
from typing import Any, Literal

import grpc

from inferflow.errors import InvalidInput
from inferflow.rpc.tls import Certificates, Pems, TlsFiles
from inferflow.rpc.tls_watch import CertificateWatch

ClientAuth = Literal["off", "required"]
HttpClientAuth = Literal["off", "optional", "required"]

_VERIFY = {"off": ssl.CERT_NONE, "optional": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}


class ServerTls:
    """How one server proves who it is, and whether its clients have to."""

    def __init__(
        self,
        files: TlsFiles,
        *,
        client_auth: ClientAuth = "off",
        http_client_auth: HttpClientAuth | None = None,
    ) -> None:
        """`http_client_auth` None: as for gRPC. Raises InvalidInput for files that cannot be
        used."""
        if not files.cert:
            raise InvalidInput("tls.cert: a server needs a certificate and its key")
        self._client_auth = client_auth
        self._http_client_auth: HttpClientAuth = http_client_auth or client_auth
        if "off" not in (client_auth, self._http_client_auth) and not files.ca:
            raise InvalidInput("tls.ca: to ask clients for certificates, say who signs theirs")
        self._certificates = Certificates(files)
        self._lock = threading.Lock()
        self._given = self._certificates.current()
        self.watch = CertificateWatch(self._certificates)

    def grpc_credentials(self) -> grpc.ServerCredentials:
        renewed: Any = self._renewed  # None is allowed, whatever its stubs say
        return grpc.dynamic_ssl_server_credentials(
            self._configuration(self._given),
            renewed,
            require_client_authentication=self._client_auth == "required",
        )

    def _renewed(self) -> grpc.ServerCertificateConfiguration | None:
        """Asked by gRPC at each handshake, in a thread of its own; None keeps what it has."""
        pems = self._certificates.current()
        with self._lock:
            if pems is self._given:
                return None
            self._given = pems
        return self._configuration(pems)

    def _configuration(self, pems: Pems) -> grpc.ServerCertificateConfiguration:
        asks = self._client_auth == "required"
        return grpc.ssl_server_certificate_configuration(
            [(pems.key, pems.cert)], root_certificates=pems.ca if asks else None
        )

    def http_context(self) -> ssl.SSLContext:
        """Answers each handshake with the files as they are then."""
        current = self._certificates.current()
        inner = self._context()

        def choose(connection: ssl.SSLObject, name: str | None, outer: ssl.SSLContext) -> None:
            del name, outer
            nonlocal current, inner
            pems = self._certificates.current()
            with self._lock:
                if pems is not current:
                    # Files may change again before OpenSSL reads them: then the ones before stay
                    # in force, until the next connection.
                    with suppress(ssl.SSLError, OSError):
                        current, inner = pems, self._context()
                connection.context = inner

        outer = self._context()
        outer.sni_callback = choose  # called without a name, too
        return outer

    def _context(self) -> ssl.SSLContext:
        files = self._certificates.files
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.load_cert_chain(files.cert, files.key, password="")
        context.verify_mode = _VERIFY[self._http_client_auth]
        if files.ca and self._http_client_auth != "off":
            context.load_verify_locations(files.ca)
        return context
