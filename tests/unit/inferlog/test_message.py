"""Messages: what protobuf itself would write, and what comes out of them again."""

from __future__ import annotations

from typing import Any

import pytest

from inferflow._proto.messages import InferflowLog, KafkaRequest
from inferflow.errors import InvalidInput, NotFound
from inferflow.inferlog.decoding import LoggedRows, decode_message, log_of
from inferflow.inferlog.message import FORMATS, Format, LogMessage, MessageWriter, metadata_byte
from inferflow.inferlog.schema import LogSchema
from inferflow.inferlog.taken import Taken

from ...robustness.scenario import StartScenario
from .worlds import AT, Answer, ranker, taken, three_items


def find_in(schema: LogSchema) -> Any:
    def find(config_id: str, version: int, digest: str) -> LogSchema:
        if (config_id, version) != (schema.config_id, schema.version):
            raise NotFound("log schema", config_id)
        assert digest in ("", schema.digest)
        return schema

    return find


def written(logged: Taken, format: Format = "proto", **options: Any) -> list[LogMessage]:
    return MessageWriter(logged.log, format, **options).write(logged)


def read(logged: Taken, message: LogMessage) -> LoggedRows:
    return decode_message(message.value, find_in(logged.log.schema), dict(message.headers))


@pytest.mark.parametrize(
    ("version", "format", "compressed", "expected"),
    [(1, "proto", False, 0x04), (3, "arrow", True, 0x4D), (1, "parquet", False, 0x84)],
)
def test_the_metadata_byte(version: int, format: Format, compressed: bool, expected: int) -> None:
    assert metadata_byte(version, format, compressed=compressed) == bytes([expected])


def test_a_version_of_more_than_four_bits_leaves_the_format_alone() -> None:
    assert metadata_byte(16, "arrow") == metadata_byte(0, "arrow")


@pytest.mark.parametrize("text", ["", "t1"])
def test_messages_are_what_protobuf_writes(answered: Answer, text: str) -> None:
    request = three_items(tracking_id=text, user_id=text)
    (message,) = written(taken(answered(ranker(), request)))
    parsed = KafkaRequest.FromString(message.value)
    assert parsed.SerializeToString() == message.value
    log = InferflowLog.FromString(parsed.value.properties.value)
    assert log.SerializeToString() == parsed.value.properties.value
    assert parsed.value.event_name == "inferflow_inference_logs"
    assert parsed.value.event_id == log.tracking_id == text
    assert parsed.value.created_at == int(AT)
    assert log.metadata == b"\x0c"
    assert list(log.entities) == ["3", "1", "2"]
    assert len(log.features) == 3


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("compressed", [False, True])
def test_what_was_logged_comes_back(
    answered: Answer, format: Format, compressed: bool, scenario: StartScenario
) -> None:
    tried = scenario("E6", "a message in every format, compressed and not")
    logged = taken(answered(ranker(), three_items(user_id="u7")))
    (message,) = written(logged, format, compressed=compressed)
    rows = read(logged, message)
    wanted = {
        "item:facts:title": ["item 3", "item 1", "item 2"],
        "item:facts:price": [3.0, 1.0, 2.0],
        "item:facts:emb": [[3.0, 1.5], [1.0, 0.5], [2.0, 1.0]],
        "item:facts:stock": [3, 1, 2],
        "rank:score": [3.5, 1.5, 2.5],
        "boost": ["0.5"] * 3,
    }
    tried.holds("all values come back", f"{len(wanted)} columns", rows.columns == wanted)
    assert (rows.ids, rows.user_id, rows.tracking_id) == (["3", "1", "2"], "u7", "t1")
    assert (rows.rows, rows.at, rows.version, rows.format) == ("targets", int(AT), 3, format)
    assert rows.config_version == logged.log.plan.digest
    assert rows.is_whole == [True] * 3
    assert log_of(message.value).startswith(b"\x28\xb5\x2f\xfd") is compressed


@pytest.mark.parametrize(("format", "shown"), [("proto", 0.0), ("arrow", None), ("parquet", None)])
def test_a_score_that_is_missing_is_marked_and_spoils_nothing_else(
    answered: Answer, format: Format, shown: float | None
) -> None:
    logged = taken(answered(ranker(model_name="broken"), three_items()))
    rows = read(logged, written(logged, format)[0])
    assert rows.columns["rank:score"] == [shown] * 3
    assert rows.columns["item:facts:price"] == [3.0, 1.0, 2.0]
    assert rows.is_whole == [False] * 3


@pytest.mark.parametrize("format", FORMATS)
def test_pairs_are_messages_of_their_own_with_the_same_columns(
    answered: Answer, format: Format
) -> None:
    request = three_items(pairs=[[0, 1], [2, 0]])
    logged = taken(answered(ranker(slate=True), request))
    targets, pairs = written(logged, format)
    assert read(logged, targets).columns["item:facts:price"] == [3.0, 1.0, 2.0]
    rows = read(logged, pairs)
    assert rows.rows == "pairs"
    assert rows.ids == ['["3", "1"]', '["2", "3"]']
    assert rows.columns["rank:score"] == [4.5, 5.5]
    assert rows.is_whole == [False, False]
    assert decode_message(pairs.value, find_in(logged.log.schema)).rows == "pairs"


def test_rows_are_split_by_log_batch_size(answered: Answer) -> None:
    logged = taken(answered(ranker(log_batch_size=2), three_items()))
    parts = [read(logged, message) for message in written(logged)]
    assert [part.ids for part in parts] == [["3", "1"], ["2"]]
    assert parts[1].columns["rank:score"] == [2.5]
    assert logged.log.messages(logged.run) == 2


def test_a_message_that_would_be_too_large_is_split_further(answered: Answer) -> None:
    logged = taken(answered(ranker(), three_items()))
    parts = written(logged, largest=60)
    assert [part.rows for part in parts] == [1, 1, 1]
    assert [read(logged, part).ids[0] for part in parts] == ["3", "1", "2"]


def test_the_experiment_and_the_models_are_told_in_headers(answered: Answer) -> None:
    run = answered(ranker(), three_items())
    run.request.config_id = "experiment"
    logged = taken(run)
    rows = read(logged, written(logged)[0])
    assert rows.config_id == "ranker"
    assert rows.experiment == "experiment"
    assert list(rows.models) == ["rank"]


def test_a_missing_user_is_taken_from_the_users_entity(answered: Answer) -> None:
    logged = taken(answered(ranker(), three_items(user_id="", context={"boost": 1, "user": 9})))
    assert read(logged, written(logged)[0]).user_id == "9"


@pytest.mark.parametrize("value", [b"", b"\xff\xff", b"\x28\xb5\x2f\xfd broken"])
def test_bytes_that_are_no_message_are_refused(value: bytes) -> None:
    with pytest.raises(InvalidInput):
        decode_message(value, find_in(LogSchema("x", 1, ())))


def test_rows_of_another_schema_are_refused_not_misread(answered: Answer) -> None:
    logged = taken(answered(ranker(), three_items()))
    other = LogSchema("ranker", 3, logged.log.schema.fields[:-1])
    for format in FORMATS:
        (message,) = written(logged, format)
        with pytest.raises(InvalidInput):
            decode_message(message.value, lambda *_: other)
