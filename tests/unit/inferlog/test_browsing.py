"""An inference log, page by page, newest first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from inferflow.errors import InvalidInput
from inferflow.inferlog import browsing
from inferflow.inferlog.browsing import Cursor, Record, Wanted, file_page, topic_page
from inferflow.inferlog.counting import LogCounts
from inferflow.inferlog.decoding import LoggedRows
from inferflow.inferlog.files import FileRules, FileSink
from inferflow.inferlog.folder import LogFolder

from .worlds import AT, Answer, ranker, taken, three_items

Log = Callable[..., LogFolder]


@pytest.fixture
def logged(tmp_path: Path, answered: Answer) -> Log:
    """Writes requests at these moments (seconds after the first), one file per list."""
    run = answered(ranker(), three_items())

    def write(*files: list[float], folder: Path = tmp_path / "logs") -> LogFolder:
        counts = LogCounts()
        for number, moments in enumerate(files):
            sink = FileSink(FileRules(folder), counts, tag=f"{number}-")
            for moment in moments:
                counts.produced(1)
                sink.write(replace(taken(run, AT), at=AT + moment))
            sink.close(0.0)
        return LogFolder(folder)

    return write


def moments(records: list[Record]) -> list[float]:
    return [round(record.at_us / 1e6 - AT, 6) for record in records]


def pages(log: LogFolder, wanted: Wanted) -> Iterator[list[float]]:
    cursor: Cursor | None = None
    while True:
        records, cursor = file_page(log, wanted, cursor)
        yield moments(records)
        if cursor is None:
            return
        cursor = Cursor.read(str(cursor))


def test_the_rows_of_a_request_are_one_record(logged: Log) -> None:
    (record,), rest = file_page(logged([0.0]), Wanted())
    assert rest is None
    assert (record.config_id, record.tracking_id, record.user) == ("ranker", "t1", "u7")
    assert record.kind == "targets"
    assert [row["id"] for row in record.rows] == ["3", "1", "2"]
    assert record.rows[0]["rank:score"] == 3.5
    assert not any(name.startswith("_") for name in record.rows[0])


def test_the_newest_come_first_whichever_file_they_are_in(logged: Log) -> None:
    log = logged([0.0, 5.0], [1.0, 4.0], [2.0, 3.0])
    assert list(pages(log, Wanted(limit=4))) == [[5.0, 4.0, 3.0, 2.0], [1.0, 0.0]]


def test_a_log_may_be_asked_for_by_config_request_user_and_time(logged: Log) -> None:
    log = logged([0.0, 1.0])
    assert moments(file_page(log, Wanted(config_id="ranker"))[0]) == [1.0, 0.0]
    assert file_page(log, Wanted(config_id="other"))[0] == []
    assert file_page(log, Wanted(tracking_id="t2"))[0] == []
    assert len(file_page(log, Wanted(tracking_id="t1", user="u7"))[0]) == 2
    assert file_page(log, Wanted(user="u8"))[0] == []
    since = int((AT + 0.5) * 1e6)
    assert moments(file_page(log, Wanted(since_us=since))[0]) == [1.0]


def test_no_page_looks_into_too_many_files_and_the_next_goes_on(
    logged: Log, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(browsing, "MOST_FILES", 2)
    log = logged([0.0], [1.0], [2.0], [3.0], [4.0])
    assert [each for page in pages(log, Wanted()) for each in page] == [4.0, 3.0, 2.0, 1.0, 0.0]


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(st.lists(st.sampled_from([0.0, 1.0, 2.0, 3.0]), max_size=3), min_size=1, max_size=3),
    st.integers(1, 4),
)
def test_pages_together_have_every_record_once(
    logged: Log, tmp_path_factory: pytest.TempPathFactory, files: list[list[float]], limit: int
) -> None:
    # Requests of one moment and one name cannot be told apart within a file.
    files = [sorted(set(each)) for each in files]
    log = logged(*files, folder=tmp_path_factory.mktemp("logs"))
    found = [each for page in pages(log, Wanted(limit=limit)) for each in page]
    assert found == sorted((each for file in files for each in file), reverse=True)


def test_a_file_that_is_damaged_hides_no_other(
    logged: Log, caplog: pytest.LogCaptureFixture
) -> None:
    log = logged([1.0], [2.0])
    good = next(iter(log.files("")))
    good.with_name("damaged.parquet").write_bytes(b"garbage" * 100)
    found, _ = file_page(log, Wanted())
    assert moments(found) == [2.0, 1.0]
    assert [each.message for each in caplog.records] == ["log_file_unreadable"]


def test_a_cursor_that_nobody_handed_out_is_refused() -> None:
    assert Cursor.read("") is None
    for odd in ("x", "1", "1-", "-1", "1-x", "9" * 50 + "-1", f"{2**63}-0", f"1-{2**63}"):
        with pytest.raises(InvalidInput, match="cursor"):
            Cursor.read(odd)


class Topic:
    """Messages as a topic has them."""

    def rows(self, *, last: int | None = None) -> Iterator[LoggedRows]:
        assert last == browsing.MOST_MESSAGES
        for config_id, at in (("a", 5), ("b", 9), ("a", 7)):
            yield LoggedRows(
                config_id, 1, "proto", "u", "t", "targets", ["1"], {"s": [0.5]}, [True], at=at
            )


def test_a_topic_is_browsed_at_its_end() -> None:
    topic: Any = Topic()
    assert [each.at_us for each in topic_page(topic, Wanted(limit=2))] == [9_000_000, 7_000_000]
    (newest, _) = topic_page(topic, Wanted(config_id="a"))
    assert (newest.at_us, newest.rows) == (7_000_000, [{"id": "1", "s": 0.5}])
