"""The inference log on a real broker: everything arrives once, or is counted."""

from __future__ import annotations

import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from inferflow.app.log_settings import KafkaSettings
from inferflow.errors import InvalidInput, NotFound, Unreachable
from inferflow.inferlog.consuming import LogTopic
from inferflow.inferlog.counting import LogCounts
from inferflow.inferlog.kafka import KafkaRules, KafkaSink
from inferflow.inferlog.log import InferenceLog
from inferflow.inferlog.message import FORMATS, Format
from inferflow.inferlog.schemas import SchemaBook

from ...servers.kafka import KafkaServer
from ...servers.processes import free_port
from ...servers.spans import for_a_span
from ...unit.inferlog.worlds import Answer, ranker, three_items

pytestmark = pytest.mark.timeout(300)  # a broker is fetched, and starts slowly on a busy machine


def opened(
    kafka: KafkaServer, topic: str, schemas: SchemaBook, format: Format = "proto", **rules: object
) -> InferenceLog:
    client = {"bootstrap.servers": kafka.address}
    counts = LogCounts()
    sink = KafkaSink(KafkaRules(client, topic, format, **rules), counts)  # type: ignore[arg-type]
    return InferenceLog(sink, counts, keep=schemas.keep)


def topic_of(kafka: KafkaServer, topic: str, schemas: SchemaBook) -> LogTopic:
    return LogTopic({"bootstrap.servers": kafka.address}, topic, schemas.find)


@pytest.mark.parametrize("format", FORMATS)
def test_what_was_logged_is_read_back_from_the_topic(
    kafka: KafkaServer, answered: Answer, tmp_path: Path, format: Format
) -> None:
    schemas, topic = SchemaBook(tmp_path), kafka.new_topic()
    log = opened(kafka, topic, schemas, format, compressed=format == "proto")
    config = ranker(slate=True, log_batch_size=2)
    for number in range(20):
        pairs = {"pairs": [[0, 1]]} if number % 2 else {}
        log.request_answered(answered(config, three_items(tracking_id=f"t{number}", **pairs)))
    log.close(30)
    assert log.counts.snapshot() == {"produced": 50, "delivered": 50, "dropped": 0, "expired": 0}
    found = list(topic_of(kafka, topic, SchemaBook(tmp_path)).rows())
    assert len(found) == 50
    assert {part.tracking_id for part in found} == {f"t{number}" for number in range(20)}
    targets = [part for part in found if part.rows == "targets"]
    assert sorted(id for part in targets for id in part.ids) == ["1"] * 20 + ["2"] * 20 + ["3"] * 20
    for part in targets:
        assert part.columns["item:facts:price"] == [float(id) for id in part.ids]
    scores = [part.columns["rank:score"] for part in found if part.rows == "pairs"]
    assert scores == [[4.5]] * 10
    assert {tuple(part.models) for part in found} == {("rank",)}


def test_a_message_of_a_kept_trace_is_a_span_and_carries_it(
    kafka: KafkaServer, answered: Answer, tmp_path: Path
) -> None:
    schemas, topic = SchemaBook(tmp_path), kafka.new_topic()
    log = opened(kafka, topic, schemas)
    run = answered(ranker(), three_items())
    _, span, ended = for_a_span(lambda: log.request_answered(run))
    for_a_span(lambda: log.request_answered(run), share=0)
    log.request_answered(run)
    log.close(30)
    (sent,) = ended
    assert (sent.name, sent.kind, sent.error) == (f"send {topic}", "producer", None)
    assert sent.parent_id == span.context.span_id
    assert sent.facts["messaging.destination.name"] == topic
    carried = [dict(headers) for _, headers in topic_of(kafka, topic, schemas).messages()]
    parents = [headers.get("traceparent") for headers in carried]  # in the order of partitions
    assert Counter(parents) == {dict(sent.headers())["traceparent"]: 1, None: 2}


def test_another_way_of_writing_holds_from_then_on(
    kafka: KafkaServer, answered: Answer, tmp_path: Path
) -> None:
    schemas, topic = SchemaBook(tmp_path), kafka.new_topic()
    log = opened(kafka, topic, schemas)
    log.write_as("parquet", compressed=False)
    log.request_answered(answered(ranker(), three_items()))
    log.close(30)
    ((value, _),) = topic_of(kafka, topic, schemas).messages()
    assert b"PAR1" in value
    (found,) = topic_of(kafka, topic, schemas).rows()
    assert found.columns["item:facts:price"] == [float(id) for id in found.ids]


def test_the_last_messages_alone_can_be_read_and_counted(
    kafka: KafkaServer, answered: Answer, tmp_path: Path
) -> None:
    schemas, topic = SchemaBook(tmp_path), kafka.new_topic()
    log = opened(kafka, topic, schemas)
    run = answered(ranker(), three_items())
    for _ in range(9):
        log.request_answered(run)
    log.close(30)
    reading = topic_of(kafka, topic, schemas)
    assert len(list(reading.rows(last=1))) <= 2  # of each partition
    (stats,) = reading.stats()
    assert (stats.parts, dict(stats.rows)) == (9, {"targets": 27})
    assert sum(stats.models.values()) == 27


def test_a_schema_nobody_kept_is_an_error_that_names_the_config(
    kafka: KafkaServer, answered: Answer, tmp_path: Path
) -> None:
    topic = kafka.new_topic()
    log = opened(kafka, topic, SchemaBook(tmp_path / "one"))
    log.request_answered(answered(ranker(), three_items()))
    log.close(30)
    with pytest.raises(NotFound, match="ranker version 3"):
        list(topic_of(kafka, topic, SchemaBook(tmp_path / "other")).rows())


@pytest.mark.scenario("E3")
def test_a_broker_that_is_killed_and_comes_back_loses_nothing_and_repeats_nothing(
    kafka: KafkaServer, answered: Answer, tmp_path: Path
) -> None:
    schemas, topic = SchemaBook(tmp_path), kafka.new_topic()
    log = opened(kafka, topic, schemas)
    run = answered(ranker(), three_items(tracking_id="before"))
    for _ in range(50):
        log.request_answered(run)
    while log.counts.snapshot()["delivered"] < 50:
        time.sleep(0.05)
    kafka.stop(signal.SIGKILL)
    away = answered(ranker(), three_items(tracking_id="away"))
    for _ in range(50):
        log.request_answered(away)
    kafka.start()
    log.close(60)
    assert log.counts.snapshot() == {"produced": 100, "delivered": 100, "dropped": 0, "expired": 0}
    found = [part.tracking_id for part in topic_of(kafka, topic, schemas).rows()]
    assert sorted(found) == ["away"] * 50 + ["before"] * 50


@pytest.mark.scenario("E1")
def test_without_brokers_memory_is_bounded_and_all_is_counted(
    answered: Answer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    counts = LogCounts()
    client = {"bootstrap.servers": f"127.0.0.1:{free_port()}"}
    rules = KafkaRules(client, "nowhere", queue_messages=10)
    log = InferenceLog(KafkaSink(rules, counts), counts)
    run = answered(ranker(), three_items())
    for _ in range(100):
        log.request_answered(run)
    log.close(0.5)
    told = counts.snapshot()
    assert told["delivered"] == 0
    assert told["dropped"] > 0
    assert told["produced"] == 100 == told["dropped"] + told["expired"]
    assert sum("kafka_unavailable" in record.message for record in caplog.records) == 1


@pytest.mark.scenario("E1")
def test_messages_no_broker_takes_in_time_expire(answered: Answer) -> None:
    counts = LogCounts()
    client = {"bootstrap.servers": f"127.0.0.1:{free_port()}"}
    log = InferenceLog(
        KafkaSink(KafkaRules(client, "nowhere", delivery_timeout_ms=100), counts), counts
    )
    log.request_answered(answered(ranker(), three_items()))
    while counts.snapshot()["expired"] < 1:
        time.sleep(0.05)
    log.close(1)
    assert counts.snapshot() == {"produced": 1, "delivered": 0, "dropped": 0, "expired": 1}


@pytest.mark.scenario("E4")
def test_a_topic_that_cannot_be_is_refused_not_retried_forever(
    kafka: KafkaServer, answered: Answer, tmp_path: Path
) -> None:
    log = opened(kafka, "no such topic!", SchemaBook(tmp_path))
    log.request_answered(answered(ranker(), three_items()))
    log.close(30)
    told = log.counts.snapshot()
    assert told["produced"] == 1 == told["dropped"] + told["expired"]


def test_reading_where_there_is_no_broker_says_so(tmp_path: Path) -> None:
    client = {"bootstrap.servers": f"127.0.0.1:{free_port()}", "socket.timeout.ms": "500"}
    topic = LogTopic(client, "nowhere", SchemaBook(tmp_path).find)
    topic.patience_s = 0.5
    with pytest.raises(Unreachable, match="nowhere"):
        list(topic.rows())


def test_options_the_client_does_not_know_are_refused_at_once() -> None:
    with pytest.raises(InvalidInput, match=r"kafka: .*nonsense"):
        KafkaSink(KafkaRules({"nonsense": "1"}, "t"), LogCounts())


def private(kafka: KafkaServer, **files: str) -> KafkaSettings:
    cert, key = map(str, kafka.certs.client())
    given = {"ca_file": str(kafka.certs.ca), "cert_file": cert, "key_file": key, **files}
    return KafkaSettings(
        bootstrap_servers=(kafka.private_address,), security_protocol="ssl", **given
    )


def test_brokers_that_ask_for_certificates_are_logged_to_in_private(
    kafka: KafkaServer, answered: Answer, tmp_path: Path
) -> None:
    schemas, topic, counts = SchemaBook(tmp_path), kafka.new_topic(), LogCounts()
    words = private(kafka).chosen()
    log = InferenceLog(KafkaSink(KafkaRules(words, topic), counts), counts, keep=schemas.keep)
    log.request_answered(answered(ranker(), three_items(tracking_id="t")))
    log.close(30)
    assert log.counts.snapshot()["delivered"] == 1
    (found,) = LogTopic(words, topic, schemas.find).rows()
    assert found.tracking_id == "t"


def test_a_stranger_is_not_taken_in_by_them(kafka: KafkaServer, tmp_path: Path) -> None:
    words = private(kafka, cert_file="", key_file="").chosen()
    topic = LogTopic(words, "any", SchemaBook(tmp_path).find)
    topic.patience_s = 2.0
    with pytest.raises(Unreachable):
        list(topic.rows())
