"""Static settings: environment over `inferflow.toml` over defaults, read once and passed down.

Names are those people already use (`CACHE_SIZE_MB`) or start with `INFERFLOW_`.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from inferflow.app.auth_settings import AuthSettings
from inferflow.app.compute_settings import ComputeSettings
from inferflow.app.drift_settings import DriftSettings
from inferflow.app.env_first import Converted, EnvFirst, Unused, named
from inferflow.app.feature_store_settings import FeatureStoreSettings
from inferflow.app.gateway_settings import GatewaySettings
from inferflow.app.log_settings import KafkaSettings, LogSettings
from inferflow.app.manager_settings import FleetSettings, ManagerSettings
from inferflow.app.platform_settings import CompatibilitySettings, EtcdSettings
from inferflow.app.redis_settings import RedisSettings
from inferflow.app.remote_settings import NumerixSettings, OnfsSettings, PredatorSettings
from inferflow.app.serve_settings import ServeSettings
from inferflow.app.setting_overrides import overridden
from inferflow.app.setting_table import place, tables_of, unknown_keys
from inferflow.app.setting_values import (
    Count,
    Listed,
    MaybeMilliseconds,
    Mebibytes,
    Paired,
    mebibytes,
)
from inferflow.app.telemetry_settings import TelemetryTable
from inferflow.app.tls_settings import TlsSettings
from inferflow.app.tracing_settings import TracingSettings
from inferflow.app.worker_settings import WorkerSettings
from inferflow.components.step_defaults import StepDefaults
from inferflow.engine.limits import Limits
from inferflow.errors import InvalidInput
from inferflow.plan.schema import ServiceConfig, ServiceDoc

FILE = "inferflow.toml"


class Settings(EnvFirst):
    data_dir: str = Field("", validation_alias=named("data_dir"))
    """Where embedded state lives; `.inferflow` in the project when empty."""
    feature_backend: Literal["lmdb", "memory", "redis"] = Field(
        "lmdb", validation_alias=named("feature_backend")
    )
    """Where features are kept: on this machine, in this process only (`memory`), or on a server
    that many share (`redis`)."""
    cache_size_mb: Annotated[Mebibytes, Converted("IN_MEMORY_CACHE_SIZE_IN_BYTES", mebibytes)] = (
        Field(
            512,
            validation_alias=named(
                "cache_size_mb", "CACHE_SIZE_MB", "IN_MEMORY_CACHE_SIZE_IN_BYTES"
            ),
        )
    )
    """Most memory the feature cache may take; `IN_MEMORY_CACHE_SIZE_IN_BYTES` has it in
    bytes."""
    cache_type: Annotated[
        Literal["freecache", "inferflow"], Unused("every name means the built-in cache")
    ] = Field("inferflow", validation_alias=named("cache_type", "CACHE_TYPE"))
    """Accepted, without effect."""
    model_threads: Count = Field(1, validation_alias=named("model_threads"))
    """Threads one model run may use inside an operator."""
    model_idle_unload: MaybeMilliseconds = Field(None, validation_alias=named("model_idle_unload"))
    """Unload a model that no request used for this long (`10m`); never when unset."""
    max_targets: Count = Field(10_000, validation_alias=named("max_targets"))
    """Most targets of a request."""
    max_pairs: Count = Field(100_000, validation_alias=named("max_pairs"))
    """Most pairs of a request."""
    max_slates: Count = Field(1_000, validation_alias=named("max_slates"))
    """Most slates of a request."""
    max_slate_size: Count = Field(1_000, validation_alias=named("max_slate_size"))
    """Most targets of a slate."""
    max_id_bytes: Count = Field(512, validation_alias=named("max_id_bytes"))
    """Longest id."""
    max_features: Count = Field(256, validation_alias=named("max_features"))
    """Most features that a request brings along."""
    endpoints: Paired = Field(default_factory=dict, validation_alias=named("endpoints"))
    """Endpoint as configs write it → endpoint to use here (`local:ranker@2`); `local` is also where
    configs name none. As a variable: `local=worker:8001,old:8001=new:8001`."""
    endpoint_allow: Listed = Field(("*",), validation_alias=named("endpoint_allow"))
    """Patterns of the `host:port` endpoints that configs may name (`*.models.internal:8001`)."""
    serve: ServeSettings = Field(default_factory=ServeSettings)
    """Ports, deadlines and limits of a server."""
    worker: WorkerSettings = Field(default_factory=WorkerSettings)
    """Ports, limits, batching and models of a worker."""
    compute: ComputeSettings = Field(default_factory=ComputeSettings)
    """Ports, limits and expressions of a compute service."""
    feature_store: FeatureStoreSettings = Field(default_factory=FeatureStoreSettings)
    """Ports, limits and callers of a feature store that serves others."""
    gateway: GatewaySettings = Field(default_factory=GatewaySettings)
    """Port, limits and targets of a gateway."""
    manager: ManagerSettings = Field(default_factory=ManagerSettings)
    """Ports, stores and limits of a manager."""
    fleet: FleetSettings = Field(default_factory=FleetSettings)
    """Where a fleet is found."""
    tls: TlsSettings = Field(default_factory=TlsSettings)
    """Certificates, for servers and for calls to others."""
    auth: AuthSettings = Field(default_factory=AuthSettings)
    """Who may call servers beyond this machine."""
    telemetry: TelemetryTable = Field(default_factory=TelemetryTable)
    """Names, metrics and logs."""
    tracing: TracingSettings = Field(default_factory=TracingSettings)
    """Traces for an OpenTelemetry collector."""
    drift: DriftSettings = Field(default_factory=DriftSettings)
    """Scores and features that no longer look as they did."""
    redis: RedisSettings = Field(default_factory=RedisSettings)
    """The feature backend `redis`: a Redis or Valkey server, or a cluster of them."""
    onfs: OnfsSettings = Field(default_factory=OnfsSettings)
    """Feature steps, and the feature service."""
    predator: PredatorSettings = Field(default_factory=PredatorSettings)
    """Model steps, and model services."""
    numerix: NumerixSettings = Field(default_factory=NumerixSettings)
    """Compute steps, and the compute service."""
    etcd: EtcdSettings = Field(default_factory=EtcdSettings)
    """The config store of a fleet."""
    logs: LogSettings = Field(default_factory=LogSettings)
    """The inference log."""
    kafka: KafkaSettings = Field(default_factory=KafkaSettings)
    """The inference log of a fleet."""
    service: ServiceConfig = ServiceDoc()
    """How inference log messages are written, for all configs."""
    compatibility: CompatibilitySettings = Field(default_factory=CompatibilitySettings)
    """What only the original has a use for."""

    @property
    def limits(self) -> Limits:
        return Limits(
            targets=self.max_targets,
            pairs=self.max_pairs,
            slates=self.max_slates,
            slate_size=self.max_slate_size,
            id_bytes=self.max_id_bytes,
            features=self.max_features,
        )

    @property
    def step_defaults(self) -> StepDefaults:
        return StepDefaults(
            feature_timeout_ms=self.onfs.deadline,
            feature_batch_size=self.onfs.batch_size,
            model_timeout_ms=self.predator.deadline,
            compute_timeout_ms=self.numerix.deadline,
        )


def read_settings(project: Path, overrides: Mapping[str, Any] | None = None) -> Settings:
    """Settings of a project folder. Raises InvalidInput with everything that is wrong."""
    written = written_settings(project)
    unknown = list(unknown_keys(Settings, written))
    if unknown:
        raise InvalidInput(f"{FILE}: unknown settings: {', '.join(unknown)}")
    # Each table is named, so that what is wrong with one is reported under its name.
    tables: dict[str, Any] = {name: {} for name in tables_of(Settings)}
    try:
        settings = Settings(**{**tables, **written})
    except ValidationError as invalid:
        listed = "; ".join(
            f"{place(Settings, error['loc'], os.environ)}: "
            f"{error['msg'].removeprefix('Value error, ')}"
            for error in invalid.errors(include_input=False, include_url=False)
        )
        raise InvalidInput(f"settings: {listed}") from invalid
    placed = {"tls": settings.tls.placed(project), "auth": settings.auth.placed(project)}
    return overridden(settings.model_copy(update=placed), overrides or {})


def written_settings(project: Path) -> dict[str, Any]:
    """What the project's file says, unchecked; nothing when there is no file."""
    path = project / FILE
    try:
        return tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as broken:
        raise InvalidInput(f"{FILE}: {broken}") from broken
