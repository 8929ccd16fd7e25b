"""The client's side of TLS for HTTP: trust, and what is shown, as the files are at the moment."""

from __future__ import annotations

import ssl
import threading
from typing import Any

from inferflow.rpc.tls import Certificates, Pems
from inferflow.rpc.tls_channel import ChannelTls


class HttpsContexts:
    """Used from any thread."""

    def __init__(self, tls: ChannelTls) -> None:
        """Raises InvalidInput for files that cannot be used."""
        self._server_name = tls.server_name
        self._certificates = Certificates(tls.files)
        self._lock = threading.Lock()
        self._made: tuple[Pems, ssl.SSLContext] | None = None

    def current(self) -> ssl.SSLContext:
        """The same object as long as no file has changed."""
        pems = self._certificates.current()
        with self._lock:
            if self._made is None or self._made[0] is not pems:
                self._made = (pems, self._context())
            return self._made[1]

    def _context(self) -> ssl.SSLContext:
        files = self._certificates.files
        context = _NamedContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.server_name = self._server_name
        if files.ca:
            context.load_verify_locations(files.ca)
        else:
            context.load_default_certs()
        if files.cert:
            context.load_cert_chain(files.cert, files.key, password="")
        return context


class _NamedContext(ssl.SSLContext):
    """Certificates must be for one name, whatever the server was called by."""

    server_name = ""

    def wrap_socket(self, *args: Any, **kwargs: Any) -> ssl.SSLSocket:
        if self.server_name:
            kwargs["server_hostname"] = self.server_name
        return super().wrap_socket(*args, **kwargs)
