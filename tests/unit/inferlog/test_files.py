"""Inference logs in Parquet files."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from inferflow.engine.run import Run
from inferflow.errors import InvalidInput, NotFound
from inferflow.inferlog.counting import LogCounts
from inferflow.inferlog.files import FileRules, FileSink, folder_name, log_files
from inferflow.inferlog.folder import LogFolder, read_file
from inferflow.testing import ManualClock

from .worlds import AT, Answer, ranker, taken, three_items


@dataclass
class Written:
    folder: Path
    sink: FileSink
    counts: LogCounts
    clock: ManualClock

    def log(self, *runs: Run) -> None:
        for run in runs:
            self.counts.produced(1 if run.slates is None else 2)
            self.sink.write(taken(run, AT))

    def close(self) -> None:
        self.sink.close(0.0)


@pytest.fixture
def opened(tmp_path: Path) -> Callable[..., Written]:
    def make(**rules: Any) -> Written:
        clock, counts = ManualClock(AT), LogCounts()
        folder = tmp_path / "logs"
        sink = FileSink(FileRules(folder, **rules), counts, tag="1-", now=clock)
        return Written(folder, sink, counts, clock)

    return make


def test_a_request_is_read_back_as_plain_columns(
    opened: Callable[..., Written], answered: Answer
) -> None:
    written = opened()
    run = answered(ranker(), three_items())
    written.log(run)
    written.close()
    table = LogFolder(written.folder).table("ranker")
    assert table.column("rank:score").to_pylist() == [3.5, 1.5, 2.5]
    assert table.column("item:facts:emb").to_pylist() == [[3.0, 1.5], [1.0, 0.5], [2.0, 1.0]]
    assert table.column("item:facts:title").to_pylist() == ["item 3", "item 1", "item 2"]
    assert table.column("item:facts:stock").to_pylist() == [3, 1, 2]
    first = table.to_pylist()[0]
    assert first["_at"].timestamp() == AT
    assert (first["_id"], first["_position"], first["_rows"]) == ("3", 0, "targets")
    assert (first["_user_id"], first["_tracking_id"]) == ("u7", "t1")
    assert first["_config_version"] == run.plan.digest
    assert first["_error"] is first["_members"] is first["_experiment"] is None
    assert first["_model_version:rank"] == (run.records or ())[2].version


def test_several_requests_with_pairs_and_without_are_one_table(
    opened: Callable[..., Written], answered: Answer
) -> None:
    written = opened()
    config = ranker(slate=True)
    plain = answered(config, three_items())
    pairs = answered(config, three_items(pairs=[[0, 1]]))
    pairs.plan = plain.plan
    written.log(plain, pairs)
    written.close()
    rows = LogFolder(written.folder).table("ranker").to_pylist()
    assert [row["_rows"] for row in rows] == ["targets"] * 6 + ["pairs"]
    assert [row["rank:score"] for row in rows] == [None] * 6 + [4.5]
    assert rows[-1]["_members"] == ["3", "1"]
    assert rows[-1]["item:facts:price"] is None


def test_a_feature_that_was_read_is_told_from_one_that_stood_in(
    opened: Callable[..., Written], answered: Answer
) -> None:
    written = opened()
    written.log(answered(ranker(), three_items(entities={"item": ["3", "unknown"]})))
    written.log(answered(ranker(), three_items(entities={"item": ["1"]})))
    written.close()
    rows = LogFolder(written.folder).table("ranker").to_pylist()
    found = {row["_id"]: row["_state:fs_item:facts"] for row in rows}
    assert found == {"3": "real", "unknown": "missing", "1": "real"}


def test_what_has_no_value_is_null_and_the_error_says_why(
    opened: Callable[..., Written], answered: Answer
) -> None:
    written = opened()
    written.log(answered(ranker(model_name="broken"), three_items()))
    written.close()
    rows = LogFolder(written.folder).table("ranker").to_pylist()
    assert [row["rank:score"] for row in rows] == [None] * 3
    assert [row["item:facts:price"] for row in rows] == [3.0, 1.0, 2.0]
    assert all("no more" in row["_error"] for row in rows)


def test_a_file_can_be_read_only_once_it_is_old_enough_and_counts_from_then_on(
    opened: Callable[..., Written], answered: Answer
) -> None:
    written = opened(rotate_s=60)
    written.log(answered(ranker(), three_items()))
    written.sink.tick()
    assert list(log_files(written.folder)) == []
    assert written.counts.snapshot()["delivered"] == 0
    written.clock.advance(60)
    written.sink.tick()
    (path,) = log_files(written.folder)
    assert path.relative_to(written.folder).parts[:2] == ("ranker", "2025-11-15")
    assert path.name.startswith(f"094640-1-{os.getpid()}-")
    assert written.counts.snapshot()["delivered"] == 1


def test_a_clock_that_was_set_back_keeps_no_file_open(
    opened: Callable[..., Written], answered: Answer
) -> None:
    written = opened(rotate_s=60)
    written.log(answered(ranker(), three_items()))
    written.clock.now -= 59
    written.sink.tick()
    assert list(log_files(written.folder)) == []
    written.clock.now -= 3600
    written.sink.tick()
    assert len(list(log_files(written.folder))) == 1


def test_a_large_file_is_closed_before_its_time(
    opened: Callable[..., Written], answered: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inferflow.inferlog.logfile._CHUNK_ROWS", 6)
    monkeypatch.setattr("inferflow.inferlog.logfile._GROUP_BYTES", 1)
    written = opened(rotate_bytes=1)
    run = answered(ranker(), three_items())
    written.log(run, run, run)
    assert [read_file(path).num_rows for path in log_files(written.folder)] == [6]
    written.close()
    assert written.counts.snapshot() == {"produced": 3, "delivered": 3, "dropped": 0, "expired": 0}


def test_another_version_of_a_config_is_another_file_and_both_are_read_as_one(
    opened: Callable[..., Written], answered: Answer
) -> None:
    written = opened()
    written.log(answered(ranker(), three_items()))
    written.log(answered(ranker(log_features=["rank:score"]), three_items()))
    written.close()
    assert len(LogFolder(written.folder).files("ranker")) == 2
    table = LogFolder(written.folder).table("ranker")
    assert table.num_rows == 6
    assert table.column("item:facts:price").null_count == 3


def test_a_folder_that_is_gone_costs_what_was_in_the_file_and_nothing_later(
    opened: Callable[..., Written], answered: Answer
) -> None:
    written = opened()
    run = answered(ranker(), three_items())
    written.log(run)
    shutil.rmtree(written.folder)
    written.folder.write_text("no folder")
    written.close()
    assert written.counts.snapshot() == {"produced": 1, "delivered": 0, "dropped": 1, "expired": 0}
    written.folder.unlink()
    written.log(run)
    written.close()
    assert written.counts.snapshot() == {"produced": 2, "delivered": 1, "dropped": 1, "expired": 0}


def test_the_oldest_files_make_room(opened: Callable[..., Written], answered: Answer) -> None:
    written = opened(rotate_s=60, keep_bytes=1)
    run = answered(ranker(), three_items())
    for _ in range(3):
        written.log(run)
        written.clock.advance(60)
        written.sink.tick()
    assert list(log_files(written.folder)) == []


def test_what_a_killed_process_left_behind_is_cleared(
    opened: Callable[..., Written], answered: Answer
) -> None:
    written = opened()
    written.log(answered(ranker(), three_items()))
    written.close()
    left = next(log_files(written.folder)).with_name("000000-9-0001.parquet.part")
    left.write_bytes(b"PAR1")
    os.utime(left, (AT - 1000, AT - 1000))
    opened()
    assert not left.exists()


@pytest.mark.parametrize("config_id", ["a/b", "..", ".x", "ü", "a b"])
def test_any_id_has_a_folder_of_its_own(config_id: str) -> None:
    name = folder_name(config_id)
    assert "/" not in name
    assert not name.startswith(".")


def test_a_folder_that_cannot_be_made_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("in the way")
    with pytest.raises(InvalidInput, match="logs"):
        FileSink(FileRules(tmp_path / "logs"), LogCounts())


def test_tail_and_stats(opened: Callable[..., Written], answered: Answer) -> None:
    written = opened()
    written.log(*(answered(ranker(), three_items(tracking_id=f"t{n}")) for n in range(3)))
    written.close()
    folder = LogFolder(written.folder)
    assert [row["_id"] for row in folder.tail(2)] == ["1", "2"]
    assert folder.tail(2, "other") == []
    (stats,) = folder.stats()
    assert (stats.requests, dict(stats.rows), stats.parts) == (3, {"targets": 9}, 1)
    assert stats.to_dict()["first"] == "2025-11-15T09:46:40Z"


def test_one_file_that_cannot_be_read_keeps_nobody_from_counting_the_others(
    opened: Callable[..., Written], answered: Answer
) -> None:
    written = opened()
    written.log(answered(ranker(), three_items()))
    written.close()
    folder = LogFolder(written.folder)
    (file,) = folder.files()
    file.with_name(f"{file.stem}-0.parquet").write_bytes(b"PAR1 and no more")
    unreadable: list[str] = []
    (stats,) = folder.stats(unreadable=unreadable)
    assert (stats.parts, len(unreadable)) == (1, 1)
    with pytest.raises(InvalidInput, match=unreadable[0]):
        folder.stats()


def test_a_file_that_is_no_log_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.parquet"
    path.write_bytes(b"PAR1 and no more")
    with pytest.raises(InvalidInput, match=r"x\.parquet"):
        read_file(path)
    import pyarrow as pa

    pq.write_table(pa.table({"a": [1]}), path)
    with pytest.raises(InvalidInput, match="no inference log"):
        read_file(path)
    with pytest.raises(NotFound):
        LogFolder(tmp_path).table("ranker")
