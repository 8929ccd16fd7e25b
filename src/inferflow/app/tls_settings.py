"""Certificates of a role, the `[tls]` table of `inferflow.toml`; the environment wins over it.

One certificate says who this process is, to its callers and to the servers it calls.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import AliasChoices, Field

from inferflow.app.env_first import EnvFirst, named


def _named(field: str) -> AliasChoices:
    return named(field, f"INFERFLOW_TLS_{field.upper()}")


class TlsSettings(EnvFirst):
    cert: str = Field("", validation_alias=_named("cert"))
    """The certificate as a PEM file, relative to the project. With it servers speak TLS only, on
    every port; it is also what is shown to servers that ask for one. Taken up anew when the file
    changes."""
    key: str = Field("", validation_alias=_named("key"))
    """Its private key as a PEM file, unencrypted."""
    ca: str = Field("", validation_alias=_named("ca"))
    """Who signs the certificates that are trusted, as a PEM file. With it servers are called over
    TLS unless their own settings say `plain_text`."""
    client_auth: Literal["off", "required"] = Field("off", validation_alias=_named("client_auth"))
    """`required` lets only clients in that show a certificate of `ca`: mutual TLS."""
    http_client_auth: Literal["off", "optional", "required"] | None = Field(
        None, validation_alias=_named("http_client_auth")
    )
    """The same for health and metrics over HTTP, for probes that have no certificate; as
    `client_auth` when unset."""
    server_name: str = Field("", validation_alias=_named("server_name"))
    """The name that certificates of called servers must be for; the host they are called by when
    empty."""

    def placed(self, root: Path) -> TlsSettings:
        """The same with paths that do not depend on where this process runs."""
        named = ("cert", "key", "ca")
        paths = {
            name: str((root / path).absolute()) for name in named if (path := getattr(self, name))
        }
        return self.model_copy(update=paths)
