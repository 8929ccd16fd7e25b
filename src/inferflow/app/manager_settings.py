"""Settings of a manager, the `[manager]` table of `inferflow.toml`, and where one is found, the
`[fleet]` table; the environment wins over both."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from inferflow.app.env_first import EnvFirst, Unit, named
from inferflow.app.setting_values import Count, Listed, Mebibytes, Milliseconds, Port, Secret

Seconds = Annotated[int, Field(ge=10, le=900), Unit("s")]


def _named(field: str) -> AliasChoices:
    return named(field, f"INFERFLOW_MANAGER_{field.upper()}")


class ManagerSettings(EnvFirst):
    bind: str = Field("127.0.0.1", validation_alias=_named("bind"))
    """Address to listen on; only this machine reaches the default."""
    auth: Literal["on", "off"] = Field("on", validation_alias=named("auth"))
    """`off` lets everybody who can reach it do everything, without an API key."""
    port: Port = Field(50060, validation_alias=_named("port"))
    """gRPC. 0 takes any free port."""
    http_port: Port = Field(8084, validation_alias=_named("http_port"))
    """Health and metrics over HTTP. 0 takes any free port."""
    reflection: bool | None = Field(None, validation_alias=_named("reflection"))
    """gRPC server reflection; unset means only when bound to this machine."""
    database: str = Field("", validation_alias=_named("database"))
    """A file for SQLite, or `postgresql://user@host/name`, with `?sslmode=verify-full` and
    `sslrootcert`, `sslcert`, `sslkey` for TLS; in the project's state when empty."""
    files: str = Field("", validation_alias=_named("files"))
    """Where model files are kept: a folder, or a URL such as `s3://bucket/prefix`; in the project's
    state when empty."""
    secret: Secret = Field(Secret(""), validation_alias=_named("secret"))
    """What API keys and signing keys are kept with, 32 bytes or more in hexadecimal. All managers
    of one database share it."""
    secret_file: str = Field("", validation_alias=_named("secret_file"))
    """A file that holds the secret, unless it is given above; made when it is not there."""
    admin_key: Secret = Field(Secret(""), validation_alias=named("admin_key"))
    """An API key `ifk_<id>_<secret>` that may administrate, taken in at the start. Without one, a
    manager of a new registry makes one and prints it."""
    max_in_flight: Count = Field(512, validation_alias=_named("max_in_flight"))
    """Calls under way at once; the surplus is told to come back."""
    drain_pause: Milliseconds = Field(500, validation_alias=_named("drain_pause"))
    """After saying it is leaving, before it stops taking calls."""
    drain_grace: Milliseconds = Field(10_000, validation_alias=_named("drain_grace"))
    """For calls under way to finish."""
    heartbeat: Milliseconds = Field(1_000, gt=0, validation_alias=_named("heartbeat"))
    """How often workers report."""
    suspect_after: Milliseconds = Field(3_000, gt=0, validation_alias=_named("suspect_after"))
    """A worker silent for this long is chosen last."""
    offline_after: Milliseconds = Field(10_000, gt=0, validation_alias=_named("offline_after"))
    """A worker silent for this long is not chosen."""
    forget_after: Milliseconds = Field(3_600_000, gt=0, validation_alias=_named("forget_after"))
    """A worker silent for this long is no longer listed."""
    token_ttl: Seconds = Field(300, validation_alias=_named("token_ttl"))
    """How long a session token lives."""
    max_upload_mb: Mebibytes = Field(2_048, validation_alias=_named("max_upload_mb"))
    """Largest upload, all files together."""
    max_upload_files: Count = Field(64, validation_alias=_named("max_upload_files"))
    """Most files of an upload."""
    max_key_mb: Annotated[float | None, Field(gt=0), Unit("MiB")] = Field(
        None, validation_alias=_named("max_key_mb")
    )
    """What all versions made by one key may take together; no limit when unset."""


class FleetSettings(EnvFirst):
    manager: Listed = Field((), validation_alias=named("manager"))
    """Managers of a fleet as `host:port`, with commas between: whom commands ask, and whom
    `inferflow worker` joins."""
    api_key: Secret = Field(Secret(""), validation_alias=named("api_key"))
    """The API key to show to them."""
    plain_text: bool | None = Field(
        None, validation_alias=named("plain_text", "INFERFLOW_FLEET_PLAIN_TEXT")
    )
    """Call managers and workers without TLS; when unset, with it where `tls.ca` says whom to
    trust."""
    enabled: bool = Field(False, validation_alias=named("enabled", "INFERFLOW_FLEET_ENABLED"))
    """`inferflow up` runs a manager and a worker too, which serve the project's models."""
