"""Settings of metrics and logs, the `[telemetry]` table of `inferflow.toml`.

The environment wins over it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AliasChoices, Field
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from inferflow.telemetry.settings import TelemetrySettings


def _named(field: str, *environment: str) -> AliasChoices:
    return AliasChoices(field, *(environment or (f"INFERFLOW_{field.upper()}",)))


class TelemetryTable(BaseSettings):
    model_config = SettingsConfigDict(
        extra="forbid", frozen=True, case_sensitive=False, populate_by_name=True
    )

    app_name: str = Field("inferflow", validation_alias=_named("app_name", "APP_NAME"))
    """The `service` tag of every StatsD metric."""
    app_env: str = Field("", validation_alias=_named("app_env", "APP_ENV"))
    """The `env` tag of every StatsD metric; no such tag when empty."""
    log_level: str = Field("info", validation_alias=_named("log_level", "APP_LOG_LEVEL"))
    """trace, debug, info, warn, error, fatal or disabled."""
    log_format: Literal["auto", "json", "text"] = Field(
        "auto", validation_alias=_named("log_format")
    )
    """JSON lines, or text for people; `auto` asks whether a terminal is there."""
    log_file: str = Field("", validation_alias=_named("log_file"))
    """Write lines to this file, which is rotated, instead of standard error."""
    log_values: bool = Field(False, validation_alias=_named("log_values"))
    """Let feature values, keys and ids into the log."""
    telegraf_host: str = Field("", validation_alias=_named("telegraf_host", "TELEGRAF_HOST"))
    """Where StatsD packets go; none are sent when empty."""
    telegraf_port: Annotated[int, Field(ge=1, le=65535)] = Field(
        8125, validation_alias=_named("telegraf_port", "TELEGRAF_PORT")
    )
    metric_sampling_rate: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0, validation_alias=_named("metric_sampling_rate", "METRIC_SAMPLING_RATE")
    )
    """The share of requests whose timings are sent over StatsD. Counts are exact."""

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

    def chosen(self) -> TelemetrySettings:
        return TelemetrySettings(**self.model_dump())
