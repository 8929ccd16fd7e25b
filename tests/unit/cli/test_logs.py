"""`inferflow logs`, on files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import inferflow
from inferflow.inferlog.message import MessageWriter
from inferflow.inferlog.schemas import SchemaBook

from ..inferlog.worlds import Answer, answered, ranker, taken, three_items  # noqa: F401
from .conftest import Run


@pytest.fixture
def logged(starter: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = starter / "configs" / "ranker.yaml"
    written = path.read_text(encoding="utf-8")
    path.write_text(written.replace("response_config:", "response_config:\n    logging_perc: 100"))
    monkeypatch.setenv("INFERFLOW_LOGS_SINK", "files")
    with inferflow.open(starter) as flow:
        for user in ("ada", "ben"):
            flow.score("ranker", user=user, book=["1", "2", "3"])
    return starter


def test_the_newest_rows_are_shown_as_a_table(run: Run, logged: Path) -> None:
    shown = run("logs", "tail", "-n", 2, "--dir", logged).stdout.splitlines()
    assert shown[0].split()[:3] == ["_at", "_config_id", "_user_id"]
    assert len(shown) == 3
    assert "ben" in shown[1]


def test_rows_are_told_to_programs_one_per_line(run: Run, logged: Path) -> None:
    lines = run("logs", "tail", "--json", "-d", logged).stdout.splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["_id"] for row in rows] == ["1", "2", "3"] * 2
    assert rows[0]["_model_version:like_model"] == "1"


def test_an_empty_log_says_so_to_people_and_nothing_to_programs(run: Run, starter: Path) -> None:
    assert "nothing is logged yet" in run("logs", "tail", "-d", starter).stdout
    assert run("logs", "tail", "--json", "-d", starter).stdout == ""


def test_what_there_is_is_counted(run: Run, logged: Path) -> None:
    (stats,) = json.loads(run("logs", "stats", "--json", "-d", logged).stdout)
    assert (stats["requests"], stats["rows"]) == (2, {"targets": 6})
    assert "ranker" in run("logs", "stats", "-d", logged).stdout
    assert run("logs", "stats", "-d", logged, "-c", "other").stdout == "nothing is logged\n"


def test_a_log_file_is_decoded(run: Run, logged: Path) -> None:
    (file,) = (logged / ".inferflow" / "logs").rglob("*.parquet")
    rows = run("logs", "decode", file).stdout.splitlines()
    assert len(rows) == 6


def test_a_message_is_decoded_with_the_projects_schema_or_a_given_one(
    run: Run,
    starter: Path,
    tmp_path: Path,
    answered: Answer,  # noqa: F811
) -> None:
    message = taken(answered(ranker(), three_items()))
    file, schema = tmp_path / "message", tmp_path / "schema.json"
    file.write_bytes(MessageWriter(message.log).write(message)[0].value)
    schema.write_text(json.dumps(message.log.schema.to_dict()))
    given = run("logs", "decode", file, "--schema", schema).stdout
    assert [json.loads(line)["rank:score"] for line in given.splitlines()] == [3.5, 1.5, 2.5]
    missing = run("logs", "decode", file, "-d", starter, code=1)
    assert "ranker version 3" in missing.stderr
    SchemaBook(starter / ".inferflow" / "log_schemas").keep(message.log.schema)
    assert run("logs", "decode", file, "-d", starter).stdout == given


def test_what_cannot_be_read_is_one_clear_line(run: Run, starter: Path, tmp_path: Path) -> None:
    (tmp_path / "junk").write_bytes(b"\xff")
    assert "no message" in run("logs", "decode", tmp_path / "junk", "-d", starter, code=1).stderr
    absent = run("logs", "decode", tmp_path / "absent", "-d", starter, code=1)
    assert "absent" in absent.stderr


def test_kafka_without_brokers_is_refused_with_what_is_missing(
    run: Run, starter: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFERFLOW_LOGS_SINK", "kafka")
    assert "KafkaBootstrapServers" in run("logs", "stats", "-d", starter, code=1).stderr
