"""Settings of metrics and logs, the `[telemetry]` table of `inferflow.toml`.

The environment wins over it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from inferflow.app.env_first import EnvFirst, named
from inferflow.errors import InvalidInput
from inferflow.telemetry.levels import level_number
from inferflow.telemetry.settings import TelemetrySettings


def _level(name: str) -> str:
    try:
        level_number(name)
    except InvalidInput as unknown:
        raise ValueError(str(unknown)) from unknown
    return name


class TelemetryTable(EnvFirst):
    app_name: str = Field("inferflow", validation_alias=named("app_name", "APP_NAME"))
    """The `service` tag of every StatsD metric, and part of the keys of configs in etcd."""
    app_env: str = Field("", validation_alias=named("app_env", "APP_ENV"))
    """The `env` tag of every StatsD metric; no such tag when empty."""
    log_level: Annotated[str, AfterValidator(_level)] = Field(
        "info", validation_alias=named("log_level", "APP_LOG_LEVEL")
    )
    """trace, debug, info, warn, error, fatal or disabled."""
    log_format: Literal["auto", "json", "text"] = Field(
        "auto", validation_alias=named("log_format")
    )
    """JSON lines, or text for people; `auto` asks whether a terminal is there."""
    log_file: str = Field("", validation_alias=named("log_file"))
    """Write lines to this file, which is rotated, instead of standard error."""
    log_values: bool = Field(False, validation_alias=named("log_values"))
    """Let feature values, keys and ids into the log."""
    telegraf_host: str = Field("", validation_alias=named("telegraf_host", "TELEGRAF_HOST"))
    """Where StatsD packets go; none are sent when empty."""
    telegraf_port: Annotated[int, Field(ge=1, le=65535)] = Field(
        8125, validation_alias=named("telegraf_port", "TELEGRAF_PORT")
    )
    """And on which port."""
    metric_sampling_rate: Annotated[float, Field(gt=0, le=1)] = Field(
        1.0, validation_alias=named("metric_sampling_rate", "METRIC_SAMPLING_RATE")
    )
    """The share of requests whose timings are sent over StatsD. Counts are exact."""

    def chosen(self) -> TelemetrySettings:
        return TelemetrySettings(**self.model_dump())
