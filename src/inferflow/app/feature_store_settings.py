"""Settings of a feature store that serves others, the `[feature_store]` table of `inferflow.toml`;
the environment wins over it. How such a store is called is in `[onfs]`, where it keeps its rows in
`feature_backend`."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_validator

from inferflow.app.env_first import EnvFirst, named
from inferflow.app.setting_values import Count, Listed, Mebibytes, Milliseconds, Port, Secret

_SHA256 = re.compile(r"[0-9a-fA-F]{64}")


class CallerTable(BaseModel):
    """One caller."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    token: Secret | None = None
    sha256: Listed = ()
    rights: Annotated[tuple[Literal["read", "write"], ...], Field(min_length=1)] = ("read",)

    @model_validator(mode="after")
    def _has_proof(self) -> CallerTable:
        if self.token is None and not self.sha256:
            raise ValueError("a caller needs a token, or the sha256 of one")
        if self.token is not None and not self.token.get_secret_value():
            raise ValueError("a token cannot be empty")
        for each in self.sha256:
            if not _SHA256.fullmatch(each):
                raise ValueError(f"{each!r} is not a SHA-256 in hexadecimal")
        return self


def _named(field: str) -> AliasChoices:
    return named(field, f"INFERFLOW_FEATURE_STORE_{field.upper()}")


class FeatureStoreSettings(EnvFirst):
    bind: str = Field("127.0.0.1", validation_alias=_named("bind"))
    """Address to listen on; only this machine reaches the default."""
    auth: Literal["on", "off"] = Field("on", validation_alias=named("auth"))
    """`off` asks nobody who they are, whoever can reach it. `on`: callers are asked as soon as
    `[auth]` knows any; without, only this machine can call."""
    port: Port = Field(8089, validation_alias=_named("port"))
    """gRPC. 0 takes any free port."""
    http_port: Port = Field(8086, validation_alias=_named("http_port"))
    """Health and metrics over HTTP. 0 takes any free port."""
    reflection: bool | None = Field(None, validation_alias=_named("reflection"))
    """gRPC server reflection; unset means only when bound to this machine."""
    default_deadline: Milliseconds = Field(1_000, gt=0, validation_alias=_named("default_deadline"))
    """For callers that name no deadline."""
    max_deadline: Milliseconds = Field(10_000, gt=0, validation_alias=_named("max_deadline"))
    """Longer ones are cut to this."""
    max_in_flight: Count = Field(512, validation_alias=_named("max_in_flight"))
    """Calls under way at once; the surplus is told to come back."""
    max_keys: Count = Field(10_000, validation_alias=_named("max_keys"))
    """Most keys of one query."""
    max_message_mb: Annotated[Mebibytes, Field(le=2047)] = Field(
        16, validation_alias=_named("max_message_mb")
    )
    """Largest request."""
    drain_pause: Milliseconds = Field(2_000, validation_alias=_named("drain_pause"))
    """After saying it is leaving, before it stops taking calls."""
    drain_grace: Milliseconds = Field(30_000, validation_alias=_named("drain_grace"))
    """For calls under way to finish."""
    callers_file: str = Field("", validation_alias=_named("callers_file"))
    """A TOML file with a `[callers.<id>]` table per caller, read again when it changes; relative
    to the project."""
    callers: dict[str, CallerTable] = Field(default_factory=dict)
    """Who may call, by caller id: `token` or `sha256` (of the token; two while one replaces the
    other), and `rights`, of `read` and `write`. Without any, everybody who reaches the port may."""
