"""The inference log of real servers: what is read back equals what was answered."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Any

import pytest

import inferflow
from inferflow.api.log_schema import PATH
from inferflow.app.scaffold import write_starter
from inferflow.inferlog.consuming import LogTopic
from inferflow.inferlog.decoding import log_of
from inferflow.inferlog.folder import LogFolder
from inferflow.inferlog.schema import schema_from
from inferflow.inferlog.schemas import SchemaBook

from ..servers.kafka import KafkaServer, kafka  # noqa: F401
from ..servers.published_decoder import PublishedDecoder, published_decoder  # noqa: F401
from ..servers.schema_server import serving
from .serving_process import Process, start
from .test_processes import until

REQUESTS = 12

pytestmark = pytest.mark.timeout(300)  # a broker may have to be fetched first


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """The starter project, with everything logged."""
    folder = tmp_path / "project"
    write_starter(folder)
    for path in (folder / "configs").iterdir():
        written = path.read_text(encoding="utf-8")
        logged = written.replace("response_config:", "response_config:\n    logging_perc: 100")
        assert logged != written
        path.write_text(logged, encoding="utf-8")
    return folder


def ask(process: Process) -> dict[str, dict[str, float]]:
    """Score some requests; tracking id → id → score."""
    answers = {}
    for number in range(REQUESTS):
        # A connection each, so that every process of a server gets some.
        with inferflow.connect(f"127.0.0.1:{process.port}") as client:
            request = {
                "model_config_id": "ranker",
                "tracking_id": f"t{number}",
                "entities": {"user": "ada", "book": ["1", "2", "3"]},
            }
            scores = client.answer(request)
            values = scores["pick:score"].tolist()
            answers[f"t{number}"] = dict(zip(scores.ids, values, strict=True))
    return answers


def logged(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        found.setdefault(row["_tracking_id"], {})[row["_id"]] = row["pick:score"]
    return found


def schema_of(process: Process, version: int = 1) -> tuple[int, Any]:
    status, body = process.get(f"{PATH}?model_config_id=ranker&version={version}")
    return status, json.loads(body)


@pytest.mark.parametrize("processes", [1, 2])
def test_files_hold_what_was_answered_whichever_process_answered(
    project: Path, processes: int
) -> None:
    process = start(project, "--processes", str(processes), INFERFLOW_LOGS_SINK="files")
    try:
        answers = ask(process)
        status, schema = schema_of(process)
        assert status == 200
        assert [each["feature_name"] for each in schema["data"]][:2] == [
            "user:profile:books_per_year",
            "user:profile:likes_new",
        ]
        assert schema_of(process, 2)[0] == 404
        assert process.end() == 0
    finally:
        process.close()
    folder = LogFolder(project / ".inferflow" / "logs")
    assert logged(folder.table("ranker").to_pylist()) == answers
    (stats,) = folder.stats()
    assert (stats.requests, dict(stats.rows)) == (REQUESTS, {"targets": 3 * REQUESTS})
    assert len({path.name.split("-")[1] for path in folder.files()}) <= processes


def test_logs_of_several_processes_are_read_back_from_kafka_by_us_and_by_others(
    project: Path,
    kafka: KafkaServer,  # noqa: F811
    published_decoder: PublishedDecoder,  # noqa: F811
    tmp_path: Path,
) -> None:
    topic = kafka.new_topic()
    brokers = {"KafkaBootstrapServers": kafka.address, "KafkaLoggingTopic": topic}
    process = start(project, "--processes", "2", **brokers)
    try:
        answers = ask(process)
        _, schema = schema_of(process)
        process.popen.send_signal(signal.SIGTERM)
        assert process.popen.wait(60) == 0
    finally:
        process.close()
    schemas = SchemaBook(project / ".inferflow" / "log_schemas")
    reading = LogTopic({"bootstrap.servers": kafka.address}, topic, schemas.find)
    parts = list(reading.rows())
    assert logged([row for part in parts for row in part.to_dicts()]) == answers
    assert {part.models["like_model"] for part in parts} == {"local@1"}
    values = [value for value, _ in reading.messages()]
    with serving(schema_from(schema)) as address:
        logs = [log_of(value) for value in values]
        decoded = published_decoder.decode(logs, tmp_path, schemas=address)
    theirs = {
        each["tracking_id"]: dict(
            zip(each["columns"]["entity_id"], each["columns"]["pick:score"], strict=True)
        )
        for each in decoded
    }
    assert theirs == {
        tracking: {id: round(score, 6) for id, score in scores.items()}
        for tracking, scores in answers.items()
    }


def test_metrics_count_what_was_delivered(project: Path) -> None:
    process = start(project, INFERFLOW_LOGS_SINK="files", INFERFLOW_LOGS_ROTATE_AFTER="1ms")
    try:
        ask(process)
        wanted = f'inferflow_log_messages_total{{config="ranker"}} {REQUESTS}'
        until(lambda: wanted in process.get("/metrics")[1].decode().replace(".0", ""))
    finally:
        process.end()


def test_a_config_that_wants_logs_where_there_are_none_is_told_about(project: Path) -> None:
    process = start(project)
    process.popen.send_signal(signal.SIGTERM)
    _, said = process.popen.communicate(timeout=60)
    assert "inference_log_off" in said
    assert "INFERFLOW_LOGS_SINK" in said


def test_an_open_project_logs_when_it_is_told_to(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFERFLOW_LOGS_SINK", "files")
    with inferflow.open(project) as flow:
        scores = flow.score("ranker", user="ada", book=["1", "2"])
    table = LogFolder(project / ".inferflow" / "logs").table("ranker")
    assert table.column("pick:score").to_pylist() == scores["pick:score"].tolist()
    assert table.column("_user_id").to_pylist() == ["ada", "ada"]
