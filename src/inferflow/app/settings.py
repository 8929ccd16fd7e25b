"""Static settings: environment over `inferflow.toml` over defaults, read once and passed down.

Names are those people already use (`CACHE_SIZE_MB`) or start with `INFERFLOW_`.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AliasChoices, BeforeValidator, Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from inferflow.app.serve_settings import ServeSettings
from inferflow.app.telemetry_settings import TelemetryTable
from inferflow.engine.limits import Limits
from inferflow.errors import InvalidInput
from inferflow.plan.problems import closest_hint
from inferflow.plan.schema import ServiceConfig, ServiceDoc, duration_ms

FILE = "inferflow.toml"


def _named(*environment: str, field: str) -> AliasChoices:
    """A setting's key in the file, then its environment variables."""
    return AliasChoices(field, *environment)


class Settings(BaseSettings):
    model_config = SettingsConfigDict(
        extra="forbid", frozen=True, case_sensitive=False, populate_by_name=True
    )

    data_dir: str = Field("", validation_alias=_named("INFERFLOW_DATA_DIR", field="data_dir"))
    """Where embedded state lives; `.inferflow` in the project when empty."""
    feature_backend: Literal["lmdb", "memory"] = Field(
        "lmdb", validation_alias=_named("INFERFLOW_FEATURE_BACKEND", field="feature_backend")
    )
    """Where features are kept: shared and durable, or in this process only."""
    cache_size_mb: Annotated[float, Field(gt=0)] = Field(
        512, validation_alias=_named("CACHE_SIZE_MB", field="cache_size_mb")
    )
    """Most memory the feature cache may take."""
    cache_type: Literal["freecache", "inferflow"] = Field(
        "inferflow", validation_alias=_named("CACHE_TYPE", field="cache_type")
    )
    """Accepted for compatibility; every name means the built-in cache."""
    model_threads: Annotated[int, Field(ge=1)] = Field(
        1, validation_alias=_named("INFERFLOW_MODEL_THREADS", field="model_threads")
    )
    """Threads one model run may use inside an operator."""
    model_idle_unload: Annotated[float | None, BeforeValidator(lambda v: v and duration_ms(v))] = (
        Field(
            None, validation_alias=_named("INFERFLOW_MODEL_IDLE_UNLOAD", field="model_idle_unload")
        )
    )
    """Unload a model that no request used for this long (`10m`); never when unset."""
    max_targets: Annotated[int, Field(ge=1)] = Field(
        10_000, validation_alias=_named("INFERFLOW_MAX_TARGETS", field="max_targets")
    )
    max_pairs: Annotated[int, Field(ge=1)] = Field(
        100_000, validation_alias=_named("INFERFLOW_MAX_PAIRS", field="max_pairs")
    )
    max_slates: Annotated[int, Field(ge=1)] = Field(
        1_000, validation_alias=_named("INFERFLOW_MAX_SLATES", field="max_slates")
    )
    max_slate_size: Annotated[int, Field(ge=1)] = Field(
        1_000, validation_alias=_named("INFERFLOW_MAX_SLATE_SIZE", field="max_slate_size")
    )
    max_id_bytes: Annotated[int, Field(ge=1)] = Field(
        512, validation_alias=_named("INFERFLOW_MAX_ID_BYTES", field="max_id_bytes")
    )
    max_features: Annotated[int, Field(ge=1)] = Field(
        256, validation_alias=_named("INFERFLOW_MAX_FEATURES", field="max_features")
    )
    endpoints: dict[str, str] = {}
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

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],  # noqa: ARG003  # the library's own signature
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return env_settings, init_settings


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
