"""Settings of a compute service, the `[compute]` table of `inferflow.toml`; the environment wins
over it. How such a service is called is in `[numerix]`."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasChoices, Field

from inferflow.app.env_first import EnvFirst, named
from inferflow.app.setting_values import Count, Mebibytes, Milliseconds, Port


def _named(field: str) -> AliasChoices:
    return named(field, f"INFERFLOW_COMPUTE_{field.upper()}")


class ComputeSettings(EnvFirst):
    bind: str = Field("127.0.0.1", validation_alias=_named("bind"))
    """Address to listen on; only this machine reaches the default."""
    auth: Literal["on", "off"] = Field("on", validation_alias=named("auth"))
    """`off` asks nobody who they are, whoever can reach it. `on`: callers are asked as soon as
    `[auth]` knows any; without, only this machine can call."""
    port: Port = Field(50052, validation_alias=_named("port"))
    """gRPC. 0 takes any free port."""
    http_port: Port = Field(8083, validation_alias=_named("http_port"))
    """Health and metrics over HTTP. 0 takes any free port."""
    reflection: bool | None = Field(None, validation_alias=_named("reflection"))
    """gRPC server reflection; unset means only when bound to this machine."""
    expressions: str = Field("", validation_alias=_named("expressions"))
    """A file of expressions, or a folder with one file per expression; the project's
    `expressions.yaml` when empty."""
    max_in_flight: Count = Field(512, validation_alias=_named("max_in_flight"))
    """Calls under way at once; the surplus is told to come back."""
    max_message_mb: Annotated[Mebibytes, Field(le=2047)] = Field(
        16, validation_alias=_named("max_message_mb")
    )
    """Largest request."""
    drain_pause: Milliseconds = Field(2_000, validation_alias=_named("drain_pause"))
    """After saying it is leaving, before it stops taking calls."""
    drain_grace: Milliseconds = Field(30_000, validation_alias=_named("drain_grace"))
    """For calls under way to finish."""
