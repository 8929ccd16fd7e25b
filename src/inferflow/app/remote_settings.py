"""How services beyond this process are reached, under the names of the original: `[onfs]` has
features, `[predator]` models, `[numerix]` compute.

Deadlines hold here too: for steps that name none, wherever they run.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from inferflow.app.env_first import EnvFirst, named
from inferflow.app.setting_values import (
    Count,
    MaybeMilliseconds,
    RemotePort,
    Secret,
    addresses,
)


class OnfsSettings(EnvFirst):
    host: str = Field(
        "",
        validation_alias=named("host", "externalServiceOnFs_host", "EXTERNAL_SERVICE_ONFS_FS_HOST"),
    )
    """The feature service that features are read from, as `host` or `host:port`, several with
    commas between; from the project's own store when empty."""
    port: RemotePort = Field(8089, validation_alias=named("port", "EXTERNAL_SERVICE_ONFS_FS_PORT"))
    """Its port, unless the host has one."""
    plain_text: bool | None = Field(
        None, validation_alias=named("plain_text", "EXTERNAL_SERVICE_ONFS_FS_GRPC_PLAIN_TEXT")
    )
    """Call it without TLS; when unset, with it where `tls.ca` says whom to trust."""
    caller_id: str = Field(
        "inferflow",
        validation_alias=named(
            "caller_id", "externalServiceOnFs_callerId", "EXTERNAL_SERVICE_ONFS_FS_CALLER_ID"
        ),
    )
    """Who calls, for its access check."""
    caller_token: Secret = Field(
        Secret(""),
        validation_alias=named(
            "caller_token",
            "externalServiceOnFs_callerToken",
            "EXTERNAL_SERVICE_ONFS_FS_CALLER_TOKEN",
        ),
    )
    """The secret that goes with it."""
    deadline: MaybeMilliseconds = Field(
        None,
        validation_alias=named(
            "deadline", "externalServiceOnFs_deadline", "EXTERNAL_SERVICE_ONFS_FS_DEAD_LINE"
        ),
    )
    """Time for a feature step that names no timeout; when unset, the request's own is its only
    limit."""
    batch_size: Annotated[int, Field(ge=0)] = Field(
        0,
        validation_alias=named(
            "batch_size", "externalServiceOnFs_batchSize", "EXTERNAL_SERVICE_ONFS_FS_BATCH_SIZE"
        ),
    )
    """Most keys per read of a feature step that names no batch size; 0 reads all at once."""
    max_calls: Count = Field(128, validation_alias=named("max_calls", "INFERFLOW_ONFS_MAX_CALLS"))
    """Calls to the feature service under way at once, per process; further ones wait their turn."""
    hedge: bool = Field(False, validation_alias=named("hedge", "INFERFLOW_ONFS_HEDGE"))
    """Ask a second time for what takes longer than 95 of 100 calls did, at most for one call in
    twenty; whichever answers first is taken."""

    @property
    def address(self) -> str:
        return addresses(self.host, self.port)


class PredatorSettings(EnvFirst):
    port: RemotePort = Field(8090, validation_alias=named("port", "EXTERNAL_SERVICE_PREDATOR_PORT"))
    """Port of model endpoints that name none."""
    plain_text: bool | None = Field(
        None, validation_alias=named("plain_text", "EXTERNAL_SERVICE_PREDATOR_GRPC_PLAIN_TEXT")
    )
    """Call them without TLS; when unset, with it where `tls.ca` says whom to trust."""
    caller_id: str = Field(
        "inferflow", validation_alias=named("caller_id", "EXTERNAL_SERVICE_PREDATOR_CALLER_ID")
    )
    """Who calls, for their access check."""
    caller_token: Secret = Field(
        Secret(""), validation_alias=named("caller_token", "EXTERNAL_SERVICE_PREDATOR_CALLER_TOKEN")
    )
    """The secret that goes with it."""
    deadline: MaybeMilliseconds = Field(
        None,
        validation_alias=named(
            "deadline",
            "externalServicePredator_defaultDeadline",
            "EXTERNAL_SERVICE_PREDATOR_DEADLINE",
        ),
    )
    """Time for a model step that names no deadline; when unset, the request's own is its only
    limit."""
    hedge: bool = Field(False, validation_alias=named("hedge", "INFERFLOW_PREDATOR_HEDGE"))
    """As for features, of models behind `host:port` endpoints."""


class NumerixSettings(EnvFirst):
    host: str = Field(
        "", validation_alias=named("host", "numerixClientV1_host", "NUMERIX_CLIENT_V1_HOST")
    )
    """The compute service, as `host` or `host:port`, several with commas between; expressions are
    computed in this process when empty."""
    port: RemotePort = Field(8083, validation_alias=named("port", "NUMERIX_CLIENT_V1_PORT"))
    """Its port, unless the host has one."""
    plain_text: bool | None = Field(
        None, validation_alias=named("plain_text", "NUMERIX_CLIENT_V1_PLAINTEXT")
    )
    """Call it without TLS; when unset, with it where `tls.ca` says whom to trust."""
    auth_token: Secret = Field(
        Secret(""), validation_alias=named("auth_token", "NUMERIX_CLIENT_V1_AUTHTOKEN")
    )
    """The secret it asks for; sent as `numerix-auth-token`."""
    batch_size: Count = Field(
        100, validation_alias=named("batch_size", "NUMERIX_CLIENT_V1_BATCHSIZE")
    )
    """Most rows per call, where rows do not depend on each other."""
    deadline: MaybeMilliseconds = Field(
        None,
        validation_alias=named(
            "deadline", "numerixClientV1_deadline", "NUMERIX_CLIENT_V1_DEADLINE_MS"
        ),
    )
    """Time for a compute step that names no timeout; when unset, the request's own is its only
    limit."""
    hedge: bool = Field(False, validation_alias=named("hedge", "INFERFLOW_NUMERIX_HEDGE"))
    """As for features."""

    @property
    def address(self) -> str:
        return addresses(self.host, self.port)
