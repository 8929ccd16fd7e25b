"""How a client keeps its connections private. Needs nothing that is not always installed."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inferflow.rpc.tls_channel import ChannelTls


@dataclass(frozen=True, slots=True)
class Tls:
    """Paths of PEM files. `Tls()` trusts the authorities that the system trusts.

    Files are taken up anew when they change.
    """

    ca: str | Path = ""
    """Who signs the certificates of servers."""
    cert: str | Path = ""
    """The client's own certificate, for servers that ask for one."""
    key: str | Path = ""
    """And its private key."""
    server_name: str = ""
    """The name that certificates of servers must be for; the host they are called by when empty."""


def for_channels(tls: Tls | None) -> ChannelTls | None:
    """The same for gRPC. Raises InvalidInput for a certificate without its key."""
    if tls is None:
        return None
    from inferflow.rpc.tls import TlsFiles
    from inferflow.rpc.tls_channel import ChannelTls

    paths = (str(path or "") for path in (tls.cert, tls.key, tls.ca))
    return ChannelTls(TlsFiles(*paths), tls.server_name)
