"""Where the inference log goes, by the settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferflow.app.inference_log import log_folder, open_inference_log, sink_kind
from inferflow.app.settings import read_settings
from inferflow.errors import InvalidInput

KAFKA = {"KafkaBootstrapServers": "a:9092, b:9092", "KafkaLoggingTopic": "logs"}


@pytest.mark.parametrize(
    ("environment", "kind"),
    [
        ({}, "off"),
        ({"INFERFLOW_LOGS_SINK": "files"}, "files"),
        (KAFKA, "kafka"),
        ({"KAFKA_BOOTSTRAP_SERVERS": "a:1", "KAFKA_LOGGING_TOPIC": "x"}, "kafka"),
        ({"KAFKA_BOOTSTRAP_SERVERS": "a:1", "KAFKA_V2_LOG_TOPIC": "x"}, "kafka"),
        ({"KafkaBootstrapServers": "a:9092"}, "off"),
        ({**KAFKA, "INFERFLOW_LOGS_SINK": "files"}, "files"),
        ({**KAFKA, "INFERFLOW_LOGS_SINK": "off"}, "off"),
    ],
)
def test_a_topic_means_kafka_unless_something_else_is_said(
    environment: dict[str, str], kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert sink_kind(read_settings(tmp_path)) == kind


def test_kafka_without_a_topic_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INFERFLOW_LOGS_SINK", "kafka")
    with pytest.raises(InvalidInput, match="KafkaLoggingTopic"):
        open_inference_log(tmp_path, read_settings(tmp_path))


def test_brokers_are_told_as_their_client_wants_to_hear_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**KAFKA, "INFERFLOW_KAFKA_SASL_PASSWORD": "hush"}.items():
        monkeypatch.setenv(name, value)
    kafka = read_settings(tmp_path).kafka
    assert kafka.chosen() == {
        "bootstrap.servers": "a:9092,b:9092",
        "security.protocol": "plaintext",
        "sasl.password": "hush",
    }
    assert "hush" not in repr(kafka)


def test_files_lie_in_the_data_folder_unless_another_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert log_folder(tmp_path, read_settings(tmp_path)) == tmp_path / ".inferflow" / "logs"
    monkeypatch.setenv("INFERFLOW_LOGS_FOLDER", "/var/logs")
    assert log_folder(tmp_path, read_settings(tmp_path)) == Path("/var/logs")
