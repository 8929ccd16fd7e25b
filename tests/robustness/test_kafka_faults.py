"""The inference log while its broker is away, hangs, or does not let it in."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest

from inferflow.engine.run import Run
from inferflow.inferlog.consuming import LogTopic
from inferflow.inferlog.counting import LogCounts
from inferflow.inferlog.kafka import KafkaRules, KafkaSink
from inferflow.inferlog.log import InferenceLog
from inferflow.inferlog.schemas import SchemaBook

from ..servers.kafka import KafkaServer, kafka  # noqa: F401
from ..unit.inferlog.worlds import Answer, answered, ranker, three_items  # noqa: F401
from .scenario import Scenario, StartScenario

pytestmark = pytest.mark.timeout(300)


class Logged:
    """A log to a broker, and what the broker has of it."""

    def __init__(self, kafka: KafkaServer, home: Path, **rules: object) -> None:  # noqa: F811
        self._client = {"bootstrap.servers": kafka.address}
        self._topic = kafka.new_topic()
        self._schemas = SchemaBook(home)
        counts = LogCounts()
        chosen = KafkaRules(self._client, self._topic, **rules)  # type: ignore[arg-type]
        self.log = InferenceLog(KafkaSink(chosen, counts), counts, keep=self._schemas.keep)

    def counts(self) -> dict[str, int]:
        return self.log.counts.snapshot()

    def wait_for(self, delivered: int) -> None:
        while self.counts()["delivered"] < delivered:
            time.sleep(0.05)

    def arrived(self) -> list[str]:
        topic = LogTopic(self._client, self._topic, self._schemas.find)
        return sorted(part.tracking_id for part in topic.rows())


def state_all(tried: Scenario, logged: Logged, runs: list[Run]) -> None:
    counts, sent = logged.counts(), [run.request.tracking_id for run in runs]
    told = {name: count for name, count in counts.items() if count}
    tried.holds("produced = delivered", told, counts["delivered"] == counts["produced"])
    tried.holds("each message there once", len(logged.arrived()), logged.arrived() == sent)


@pytest.fixture
def runs(answered: Answer) -> list[Run]:  # noqa: F811
    return [answered(ranker(), three_items(tracking_id=f"t{n:03}")) for n in range(200)]


def test_a_broker_that_is_down_at_the_start_gets_everything_when_it_comes(
    kafka: KafkaServer,  # noqa: F811
    runs: list[Run],
    tmp_path: Path,
    scenario: StartScenario,
) -> None:
    kafka.stop()
    logged = Logged(kafka, tmp_path)
    for run in runs:
        logged.log.request_answered(run)
    kafka.start()
    logged.log.close(60)
    state_all(scenario("E2", "broker down at the start"), logged, runs)


def test_a_broker_killed_and_restarted_under_load_loses_nothing_and_repeats_nothing(
    kafka: KafkaServer,  # noqa: F811
    runs: list[Run],
    tmp_path: Path,
    scenario: StartScenario,
) -> None:
    logged = Logged(kafka, tmp_path)
    again = threading.Event()

    def load() -> None:
        for number, run in enumerate(runs):
            logged.log.request_answered(run)
            if number == len(runs) // 2:
                again.wait(60)

    loading = threading.Thread(target=load)
    loading.start()
    logged.wait_for(1)
    kafka.stop(signal.SIGKILL)
    again.set()
    loading.join()
    kafka.start()
    logged.log.close(60)
    state_all(scenario("E1", "broker killed under load, started again"), logged, runs)


def test_a_broker_that_hangs_holds_up_nothing_but_delivery(
    kafka: KafkaServer,  # noqa: F811
    runs: list[Run],
    tmp_path: Path,
    scenario: StartScenario,
) -> None:
    logged = Logged(kafka, tmp_path)
    logged.log.request_answered(runs[0])
    logged.wait_for(1)
    kafka.pause()
    try:
        for run in runs[1:]:
            logged.log.request_answered(run)  # which returns although nobody takes anything
        assert logged.counts()["produced"] == len(runs)
    finally:
        kafka.resume()
    logged.log.close(60)
    state_all(scenario("E3", "broker hangs"), logged, runs)


WRONG_LOGIN = {
    "security.protocol": "sasl_plaintext",
    "sasl.mechanism": "PLAIN",
    "sasl.username": "nobody",
    "sasl.password": "wrong",
}


def test_wrong_credentials_are_told_now_and_then_and_everything_is_counted(
    kafka: KafkaServer,  # noqa: F811
    runs: list[Run],
    caplog: pytest.LogCaptureFixture,
    scenario: StartScenario,
) -> None:
    counts = LogCounts()
    client = {"bootstrap.servers": kafka.address, **WRONG_LOGIN}
    rules = KafkaRules(client, "closed", delivery_timeout_ms=2_000)
    log = InferenceLog(KafkaSink(rules, counts), counts)
    for run in runs:
        log.request_answered(run)
    while counts.snapshot()["expired"] + counts.snapshot()["dropped"] < len(runs):
        time.sleep(0.05)
    log.close(5)
    tried = scenario("E4", "broker refuses the login")
    tried.at_most("delivered", counts.snapshot()["delivered"], 0)
    told = [record for record in caplog.records if record.message == "kafka_unavailable"]
    tried.at_least("lines of log", len(told), 1)
    tried.at_most("lines of log", len(told), 2)
