"""A page of a server over HTTP, with the key and the certificates that calls to it take."""

from __future__ import annotations

import ssl
import urllib.error
import urllib.request
from urllib.parse import urlsplit

from inferflow.client.tls import Tls
from inferflow.errors import Unreachable

_HERE = ("localhost", "127.0.0.1", "::1")


def fetched(
    url: str, *, key: str = "", tls: Tls | None = None, timeout_s: float = 10.0, most: int = 1 << 28
) -> bytes:
    """At most so many bytes of it. A key is not shown to anybody else's machine in plain text.
    Raises Unreachable, with what went wrong."""
    parts = urlsplit(url)
    may_show = parts.scheme == "https" or parts.hostname in _HERE
    headers = {"Authorization": f"Bearer {key}"} if key and may_show else {}
    context = _context(tls) if tls is not None and parts.scheme == "https" else None
    try:
        asked = urllib.request.Request(url, headers=headers)
        with urllib.request.urlopen(asked, timeout=timeout_s, context=context) as answer:
            body: bytes = answer.read(most)
            return body
    except (urllib.error.URLError, OSError, ValueError) as failed:
        raise Unreachable(url, 1, str(failed)) from failed


def _context(tls: Tls) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(tls.ca) if tls.ca else None)
    if tls.cert:
        context.load_cert_chain(tls.cert, tls.key)
    return context
