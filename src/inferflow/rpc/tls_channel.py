"""The client's side of TLS: whom it trusts, and what it shows when it is asked."""

from __future__ import annotations

from dataclasses import dataclass, field

from inferflow.rpc.tls import TlsFiles


@dataclass(frozen=True, slots=True)
class ChannelTls:
    files: TlsFiles = field(default_factory=TlsFiles)
    """Without authorities, those that the system trusts."""
    server_name: str = ""
    """The name that servers' certificates must be for; the one they are called by when empty."""

    def options(self, target: str) -> tuple[tuple[str, str], ...]:
        """What a channel needs beside credentials. Several servers have no name in common, so
        their certificates are for the first of them, unless they are told to be for another."""
        name = self.server_name
        if not name and "," in target:
            name = target.partition(",")[0].partition(":")[2].rpartition(":")[0].strip("[]")
        return (("grpc.ssl_target_name_override", name),) if name else ()
