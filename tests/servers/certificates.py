"""Certificates for servers and clients of a test, written to a folder of it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from inferflow.access.dev_certificates import Authority, Issued

HOSTS = ("localhost", "127.0.0.1")


@dataclass
class Certificates:
    """An authority, and a folder for what it signs."""

    folder: Path
    name: str = "test authority"
    age_days: float = 0
    """How long ago the authority was made; it is good for ten days."""
    authority: Authority = field(init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        made = datetime.now(UTC) - timedelta(days=self.age_days)
        self.authority = Authority(self.name, now=made, days=10)
        self._write("ca", self.authority.issued)

    @property
    def ca(self) -> Path:
        return self.folder / "ca.pem"

    def server(self, name: str = "server", hosts: tuple[str, ...] = HOSTS) -> tuple[Path, Path]:
        """Certificate and key; a second time, new ones in the same files."""
        return self._write(name, self.authority.issue(name, hosts=hosts))

    def client(self, name: str = "client", uri: str = "") -> tuple[Path, Path]:
        return self._write(name, self.authority.issue(name, uri=uri))

    def _write(self, name: str, issued: Issued) -> tuple[Path, Path]:
        cert, key = self.folder / f"{name}.pem", self.folder / f"{name}-key.pem"
        for path, content in ((key, issued.key), (cert, issued.cert)):
            fresh = path.with_suffix(".new")
            fresh.write_bytes(content)
            fresh.chmod(0o600)
            os.replace(fresh, path)
        return cert, key
