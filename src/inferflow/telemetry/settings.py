"""What can be chosen about metrics and logs. Read from the environment by `app`, passed down."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from inferflow.errors import InvalidInput
from inferflow.telemetry.levels import level_number

LogFormat = Literal["auto", "json", "text"]


@dataclass(frozen=True, slots=True)
class TelemetrySettings:
    app_name: str = "inferflow"
    """APP_NAME: the `service` tag of every StatsD metric."""
    app_env: str = ""
    """APP_ENV: the `env` tag of every StatsD metric; no such tag when empty."""
    log_level: str = "info"
    """APP_LOG_LEVEL: trace, debug, info, warn, error, fatal or disabled, in any case."""
    log_format: LogFormat = "auto"
    """JSON lines, or text for people; `auto` asks whether a terminal is there."""
    log_file: str = ""
    """Write lines to this file instead of standard error."""
    log_file_mb: float = 100.0
    """The file is put aside when it is this large."""
    log_files_kept: int = 5
    """How many files put aside are kept."""
    log_values: bool = False
    """Let feature values, keys and ids into the log."""
    log_errors_per_s: float = 10.0
    """Most component errors logged per second, after sampling."""
    telegraf_host: str = ""
    """TELEGRAF_HOST: where StatsD packets go; none are sent when empty."""
    telegraf_port: int = 8125
    """TELEGRAF_PORT"""
    metric_sampling_rate: float = 1.0
    """METRIC_SAMPLING_RATE: the share of requests whose timings are sent. Counts are exact."""
    metric_configs: int = 200
    """Configs with series of their own; any beyond are counted together as `other`."""

    def __post_init__(self) -> None:
        level_number(self.log_level)
        _require(self.log_format in get_args(LogFormat), "log_format", "auto, json or text")
        _require(self.log_file_mb > 0, "log_file_mb", "more than 0")
        _require(self.log_files_kept >= 1, "log_files_kept", "at least 1")
        _require(self.log_errors_per_s > 0, "log_errors_per_s", "more than 0")
        _require(0 < self.telegraf_port < 65536, "TELEGRAF_PORT", "a port, 1 to 65535")
        _require(
            0 < self.metric_sampling_rate <= 1,
            "METRIC_SAMPLING_RATE",
            "a share above 0 and up to 1; leave TELEGRAF_HOST empty to send nothing",
        )
        _require(self.metric_configs >= 1, "metric_configs", "at least 1")


def _require(holds: bool, name: str, wanted: str) -> None:
    if not holds:
        raise InvalidInput(f"{name}: must be {wanted}")
