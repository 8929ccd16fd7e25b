"""Finished requests on their way to a sink."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime

import pytest

from inferflow.engine.observer import Observer
from inferflow.inferlog.counting import LogCounts
from inferflow.inferlog.log import InferenceLog
from inferflow.inferlog.sampling import daily_bucket
from inferflow.inferlog.schema import LogSchema
from inferflow.inferlog.taken import Taken

from ...robustness.scenario import StartScenario
from .worlds import AT, Answer, ranker, three_items


class Sink:
    """Keeps what it is given; delivers all of it."""

    def __init__(self, counts: LogCounts) -> None:
        self.counts = counts
        self.written: list[Taken] = []
        self.entered = threading.Event()
        self.go = threading.Event()
        self.go.set()
        self.broken = False
        self.closed = 0
        self.ways: list[tuple[str, bool]] = []

    def write_as(self, format: str, *, compressed: bool) -> None:
        self.ways.append((format, compressed))

    def write(self, taken: Taken) -> None:
        self.entered.set()
        assert self.go.wait(30)
        if self.broken:
            raise ValueError("no")
        self.written.append(taken)
        self.counts.delivered(taken.config_id, taken.log.messages(taken.run))

    def tick(self) -> None:
        pass

    def close(self, until: float) -> None:
        self.closed += 1


class Told(Observer):
    def __init__(self) -> None:
        self.sent = 0
        self.failed: list[tuple[str, str, int]] = []

    def logs_sent(self, config_id: str, messages: int) -> None:
        self.sent += messages

    def logs_failed(self, config_id: str, why: str, messages: int) -> None:
        self.failed.append((config_id, why, messages))


class Open:
    def __init__(self, **options: object) -> None:
        self.told = Told()
        self.sink = Sink(LogCounts(self.told))
        options.setdefault("now", lambda: AT)
        self.log = InferenceLog(self.sink, self.sink.counts, **options)  # type: ignore[arg-type]


@pytest.fixture
def opened() -> Iterator[Callable[..., Open]]:
    made: list[Open] = []

    def make(**options: object) -> Open:
        made.append(Open(**options))
        return made[-1]

    yield make
    for each in made:
        each.sink.go.set()
        each.log.close()


def outcome(log: InferenceLog) -> tuple[int, ...]:
    return tuple(log.counts.snapshot().values())


def test_what_was_taken_is_written_before_the_log_is_closed(
    opened: Callable[..., Open], answered: Answer
) -> None:
    each = opened()
    runs = [answered(ranker(log_batch_size=2), three_items()) for _ in range(5)]
    for run in runs:
        each.log.request_answered(run)
    each.log.close()
    assert [taken.run for taken in each.sink.written] == runs
    assert each.sink.written[0].at == AT
    assert outcome(each.log) == (10, 10, 0, 0)
    assert each.told.sent == 10
    assert each.sink.closed == 1


def test_another_way_of_writing_reaches_the_sink() -> None:
    opened = Open()
    opened.log.write_as("arrow", compressed=True)
    opened.log.close()
    assert opened.sink.ways == [("arrow", True)]


def test_a_config_that_asks_for_no_logs_gets_none(
    opened: Callable[..., Open], answered: Answer
) -> None:
    each = opened()
    each.log.request_answered(answered(ranker(logging_perc=0), three_items()))
    each.log.close()
    assert each.sink.written == []


@pytest.mark.scenario("E5")
@pytest.mark.parametrize("who", [{"user_id": "{}"}, {"user_id": "", "tracking_id": "{}"}])
def test_a_share_is_chosen_by_user_and_day_else_by_tracking_id(
    opened: Callable[..., Open], answered: Answer, who: dict[str, str]
) -> None:
    each = opened()
    day = datetime.fromtimestamp(AT, UTC).date()
    names = [f"n{number}" for number in range(40)]
    for name in names:
        given = {key: value.format(name) for key, value in who.items()}
        each.log.request_answered(answered(ranker(logging_perc=30), three_items(**given)))
    each.log.close()
    chosen = [taken.run.routing_key for taken in each.sink.written]
    assert chosen == [name for name in names if daily_bucket(name, day) < 30]
    assert 0 < len(chosen) < len(names)


def test_the_share_changes_with_the_day_in_utc(
    opened: Callable[..., Open], answered: Answer, scenario: StartScenario
) -> None:
    tried = scenario("J1", "a user's share of a day, a second before and at midnight by UTC")
    midnight = AT // 86_400 * 86_400 + 86_400
    moments = iter([midnight - 1, midnight])
    each = opened(now=lambda: next(moments))
    days = [datetime.fromtimestamp(at, UTC).date() for at in (midnight - 1, midnight)]
    name = next(
        name
        for name in map(str, range(10_000))
        if daily_bucket(name, days[0]) < 10 <= daily_bucket(name, days[1])
    )
    for _ in days:
        run = answered(ranker(logging_perc=10), three_items(user_id=name))
        each.log.request_answered(run)
    each.log.close()
    count = len(each.sink.written)
    tried.holds("logged on the one day and not on the other", count, count == 1)


def test_what_has_no_room_is_dropped_and_counted_and_what_came_before_is_kept(
    opened: Callable[..., Open], answered: Answer
) -> None:
    each = opened(most=1)
    each.sink.go.clear()
    first, second, third = (answered(ranker(), three_items()) for _ in range(3))
    each.log.request_answered(first)
    assert each.sink.entered.wait(30)
    each.log.request_answered(second)
    each.log.request_answered(third)
    each.sink.go.set()
    each.log.close()
    assert [taken.run for taken in each.sink.written] == [first, second]
    assert outcome(each.log) == (3, 2, 1, 0)
    assert each.told.failed == [("ranker", "queue_full", 1)]


def test_room_is_bounded_in_bytes_too(opened: Callable[..., Open], answered: Answer) -> None:
    each = opened(most_bytes=1000)
    each.log.request_answered(answered(ranker(), three_items()))
    assert outcome(each.log) == (1, 0, 1, 0)


def test_what_is_not_written_in_time_has_expired(
    opened: Callable[..., Open], answered: Answer
) -> None:
    each = opened()
    each.sink.go.clear()
    each.log.request_answered(answered(ranker(), three_items()))
    assert each.sink.entered.wait(30)
    each.log.request_answered(answered(ranker(), three_items()))
    closing = threading.Thread(target=each.log.close, args=(0.0,))
    closing.start()
    while not each.log.is_closed:
        time.sleep(0)
    each.sink.go.set()
    closing.join()
    counts = each.log.counts.snapshot()
    assert counts["produced"] == 2 == counts["delivered"] + counts["expired"]
    assert each.sink.closed == 1


def test_a_request_that_cannot_be_logged_costs_no_other(
    opened: Callable[..., Open], answered: Answer, caplog: pytest.LogCaptureFixture
) -> None:
    each = opened()
    each.sink.broken = True
    each.log.request_answered(answered(ranker(), three_items()))
    each.log.close()
    assert outcome(each.log) == (1, 0, 1, 0)
    assert each.told.failed == [("ranker", "encoding_error", 1)]
    assert "request_not_logged" in caplog.text


def test_after_it_was_closed_requests_are_dropped_and_counted(
    opened: Callable[..., Open], answered: Answer
) -> None:
    each = opened()
    each.log.close()
    each.log.request_answered(answered(ranker(), three_items()))
    assert outcome(each.log) == (1, 0, 1, 0)


def test_each_schema_is_told_once(opened: Callable[..., Open], answered: Answer) -> None:
    kept: list[LogSchema] = []
    each = opened(keep=kept.append)
    for response in ({}, {}, {"log_features": True}):
        each.log.request_answered(answered(ranker(**response), three_items()))
    each.log.close()
    assert len(kept) == 2
