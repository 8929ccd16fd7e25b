"""Settings of a server, the `[serve]` table of `inferflow.toml`; the environment wins over it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from inferflow.app.env_first import EnvFirst, named
from inferflow.app.setting_values import Count, Mebibytes, Milliseconds, Port


class ServeSettings(EnvFirst):
    bind: str = Field("127.0.0.1", validation_alias=named("bind"))
    """Address to listen on; only this machine reaches the default."""
    auth: Literal["on", "off"] = Field("on", validation_alias=named("auth"))
    """`off` asks nobody who they are, whoever can reach it. `on`: callers are asked as soon as
    `[auth]` knows any; without, only this machine can call."""
    port: Port = Field(50051, validation_alias=named("port", "APP_PORT"))
    """gRPC. 0 takes any free port."""
    http_port: Port = Field(8082, validation_alias=named("http_port"))
    """Health and metrics over HTTP. 0 takes any free port."""
    processes: Count = Field(1, validation_alias=named("processes"))
    """Processes that answer calls on the port, beside one that looks after them when there are
    several. Limits and caches are per process."""
    reflection: bool | None = Field(None, validation_alias=named("reflection"))
    """gRPC server reflection; unset means only when bound to this machine."""
    default_deadline: Milliseconds = Field(1_000, gt=0, validation_alias=named("default_deadline"))
    """For callers that name no deadline."""
    max_deadline: Milliseconds = Field(10_000, gt=0, validation_alias=named("max_deadline"))
    """Longer ones are cut to this."""
    max_in_flight: Count = Field(512, validation_alias=named("max_in_flight"))
    """Calls under way at once; the surplus is told to come back."""
    max_wait: Milliseconds = Field(250, validation_alias=named("max_wait"))
    """A call that would wait longer for its turn is told to come back."""
    max_message_mb: Annotated[Mebibytes, Field(le=2047)] = Field(
        16, validation_alias=named("max_message_mb")
    )
    """Largest request."""
    drain_pause: Milliseconds = Field(2_000, validation_alias=named("drain_pause"))
    """After saying it is leaving, before it stops taking calls."""
    drain_grace: Milliseconds = Field(30_000, validation_alias=named("drain_grace"))
    """For calls under way to finish."""
    explain: Literal["loopback", "on", "off"] = Field("loopback", validation_alias=named("explain"))
    """Who may have requests recorded, and see recordings: callers on this machine, all (`on`), or
    nobody (`off`)."""
    slow_request: Milliseconds = Field(0, validation_alias=named("slow_request"))
    """The slowest requests of the last minutes are kept; none that took less than this."""
    recordings_mb: Mebibytes = Field(64, validation_alias=named("recordings_mb"))
    """Most memory that recorded requests may take, per process."""
