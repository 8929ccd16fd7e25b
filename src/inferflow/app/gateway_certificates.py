"""A gateway's certificate: which files, and a new one taken up when they change."""

from __future__ import annotations

import asyncio
import logging
from pathlib import Path

from inferflow.app.http_server import AsgiServer
from inferflow.app.tls_settings import TlsSettings
from inferflow.rpc.tls import Certificates, TlsFiles

log = logging.getLogger(__name__)

LOOK_EVERY_S = 5.0

Paths = tuple[Path, Path, Path | None]
"""A certificate, its key, and whom clients' certificates must be of."""


def certificate_paths(tls: TlsSettings) -> Paths:
    asks = (tls.http_client_auth or tls.client_auth) == "required"
    return Path(tls.cert), Path(tls.key), Path(tls.ca) if asks else None


async def follow_certificates(
    tls: TlsSettings, http: AsgiServer, *, grace_s: float, look_every_s: float = LOOK_EVERY_S
) -> None:
    """For as long as the server runs. Files that cannot be used leave in place what was before."""
    certificates = Certificates(TlsFiles(tls.cert, tls.key, tls.ca))
    used = certificates.current()
    while True:
        await asyncio.sleep(look_every_s)
        found = await asyncio.to_thread(certificates.current)
        if found is used:
            continue
        try:
            await http.renew(grace_s)
        except Exception:  # the server that runs goes on, and this is tried again
            log.exception("certificate_not_renewed")
        else:
            used = found
            log.info("certificate_renewed")
