"""Static settings: environment over `inferflow.toml` over defaults, read once and passed down.

Names are those people already use (`CACHE_SIZE_MB`) or start with `INFERFLOW_`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, ValidationError

from inferflow.app.env_first import EnvFirst, named
from inferflow.app.serve_settings import ServeSettings
from inferflow.app.telemetry_settings import TelemetryTable
from inferflow.engine.limits import Limits
from inferflow.errors import InvalidInput
from inferflow.plan.problems import closest_hint
from inferflow.plan.schema import ServiceConfig, ServiceDoc, duration_ms

FILE = "inferflow.toml"


class Settings(EnvFirst):
    data_dir: str = Field("", validation_alias=named("data_dir", "INFERFLOW_DATA_DIR"))
    """Where embedded state lives; `.inferflow` in the project when empty."""
    feature_backend: Literal["lmdb", "memory"] = Field(
        "lmdb", validation_alias=named("feature_backend", "INFERFLOW_FEATURE_BACKEND")
    )
    """Where features are kept: shared and durable, or in this process only."""
    cache_size_mb: Annotated[float, Field(gt=0)] = Field(
        512, validation_alias=named("cache_size_mb", "CACHE_SIZE_MB")
    )
    """Most memory the feature cache may take."""
    cache_type: Literal["freecache", "inferflow"] = Field(
        "inferflow", validation_alias=named("cache_type", "CACHE_TYPE")
    )
    """Accepted for compatibility; every name means the built-in cache."""
    model_threads: Annotated[int, Field(ge=1)] = Field(
        1, validation_alias=named("model_threads", "INFERFLOW_MODEL_THREADS")
    )
    """Threads one model run may use inside an operator."""
    model_idle_unload: Annotated[float | None, BeforeValidator(lambda v: v and duration_ms(v))] = (
        Field(None, validation_alias=named("model_idle_unload", "INFERFLOW_MODEL_IDLE_UNLOAD"))
    )
    """Unload a model that no request used for this long (`10m`); never when unset."""
    max_targets: Annotated[int, Field(ge=1)] = Field(
        10_000, validation_alias=named("max_targets", "INFERFLOW_MAX_TARGETS")
    )
    max_pairs: Annotated[int, Field(ge=1)] = Field(
        100_000, validation_alias=named("max_pairs", "INFERFLOW_MAX_PAIRS")
    )
    max_slates: Annotated[int, Field(ge=1)] = Field(
        1_000, validation_alias=named("max_slates", "INFERFLOW_MAX_SLATES")
    )
    max_slate_size: Annotated[int, Field(ge=1)] = Field(
        1_000, validation_alias=named("max_slate_size", "INFERFLOW_MAX_SLATE_SIZE")
    )
    max_id_bytes: Annotated[int, Field(ge=1)] = Field(
        512, validation_alias=named("max_id_bytes", "INFERFLOW_MAX_ID_BYTES")
    )
    max_features: Annotated[int, Field(ge=1)] = Field(
        256, validation_alias=named("max_features", "INFERFLOW_MAX_FEATURES")
    )
    endpoints: dict[str, str] = Field(default_factory=dict)
    """Endpoint as configs write it → endpoint to use here (`local:ranker@2`)."""
    serve: ServeSettings = Field(default_factory=ServeSettings)
    """Ports, deadlines and limits of a server."""
    telemetry: TelemetryTable = Field(default_factory=TelemetryTable)
    """Metrics and logs of a server."""
    service: ServiceConfig = ServiceDoc()
    """Service-level config: v2_logging_type, compression_enabled."""

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


def read_settings(project: Path, overrides: Mapping[str, Any] | None = None) -> Settings:
    """Settings of a project folder. Raises InvalidInput with everything that is wrong."""
    path = project / FILE
    try:
        written = tomllib.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as broken:
        raise InvalidInput(f"{FILE}: {broken}") from broken
    known = set(Settings.model_fields)
    unknown = [key for key in written if key not in known]
    if unknown:
        listed = ", ".join(
            f"{key!r} ({closest_hint(key, known) or 'no such setting'})" for key in unknown
        )
        raise InvalidInput(f"{FILE}: unknown settings: {listed}")
    try:
        settings = Settings(**written)
    except ValidationError as invalid:
        listed = "; ".join(
            f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in invalid.errors()
        )
        raise InvalidInput(f"settings: {listed}") from invalid
    return settings.model_copy(update=dict(overrides or {}))
