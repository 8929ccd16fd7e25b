"""What can be chosen, and what cannot."""

from __future__ import annotations

import io
import logging

import pytest

from inferflow.components.cache import FeatureCache
from inferflow.errors import InvalidInput
from inferflow.telemetry import TelemetrySettings, open_logs, open_telemetry


def test_nothing_is_sent_anywhere_by_default():
    settings = TelemetrySettings()
    assert settings.telegraf_host == ""
    open_telemetry(settings).close()


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"log_level": "loud"}, "log level"),
        ({"log_format": "xml"}, "log_format"),
        ({"log_file_mb": 0}, "log_file_mb"),
        ({"log_files_kept": 0}, "log_files_kept"),
        ({"log_errors_per_s": 0}, "log_errors_per_s"),
        ({"telegraf_port": 0}, "TELEGRAF_PORT"),
        ({"telegraf_port": 65536}, "TELEGRAF_PORT"),
        ({"metric_sampling_rate": 0.0}, "METRIC_SAMPLING_RATE"),
        ({"metric_sampling_rate": 1.5}, "METRIC_SAMPLING_RATE"),
        ({"metric_configs": 0}, "metric_configs"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_name(wrong, named):
    with pytest.raises(InvalidInput, match=named):
        TelemetrySettings(**wrong)


def test_the_size_of_the_cache_is_shown():
    telemetry = open_telemetry(TelemetrySettings())
    telemetry.watch_cache(FeatureCache(2))
    page = telemetry.render().decode()
    assert "inferflow_cache_items 0.0" in page
    assert "inferflow_cache_bytes 0.0" in page
    assert "inferflow_cache_limit_bytes 2.097152e+06" in page


@pytest.mark.parametrize(("chosen", "is_json"), [("auto", True), ("json", True), ("text", False)])
def test_logs_look_and_are_heard_as_the_settings_say(chosen, is_json):
    stream = io.StringIO()
    logs = open_logs(TelemetrySettings(log_level="WARN", log_format=chosen), stream)
    logging.getLogger("inferflow").info("quiet")
    logging.getLogger("inferflow").warning("loud")
    logs.close()
    assert "quiet" not in stream.getvalue()
    assert stream.getvalue().startswith("{") is is_json


def test_logs_go_to_the_file_the_settings_name(tmp_path):
    logs = open_logs(TelemetrySettings(log_file=str(tmp_path / "own.log")))
    logging.getLogger("inferflow").warning("loud")
    logs.close()
    assert "loud" in (tmp_path / "own.log").read_text()
