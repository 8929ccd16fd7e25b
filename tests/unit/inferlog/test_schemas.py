"""Log schemas outlive the configs they belong to."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inferflow.dtypes import FP32, STRING
from inferflow.errors import InvalidInput, NotFound
from inferflow.inferlog.schema import LogField, LogSchema, schema_from
from inferflow.inferlog.schemas import SchemaBook

ONE = LogSchema("ranker/a", 1, (LogField("x", FP32, 1),))
OTHER = LogSchema("ranker/a", 1, (LogField("x", FP32, 1), LogField("y", STRING, 1)))


def test_a_schema_is_found_by_another_process_and_after_a_restart(tmp_path: Path) -> None:
    SchemaBook(tmp_path).keep(ONE)
    assert SchemaBook(tmp_path).find("ranker/a", 1) == ONE


def test_a_version_means_the_newest_schema_and_a_digest_exactly_one(tmp_path: Path) -> None:
    book = SchemaBook(tmp_path)
    book.keep(ONE)
    book.keep(OTHER)
    (first,) = tmp_path.glob(f"*/*{ONE.digest}.json")
    os.utime(first, (0, 0))
    for reader in (book, SchemaBook(tmp_path)):
        assert reader.find("ranker/a", 1) == OTHER
        assert reader.find("ranker/a", 1, ONE.digest) == ONE


def test_what_was_never_kept_is_not_found(tmp_path: Path) -> None:
    book = SchemaBook(tmp_path)
    book.keep(ONE)
    for asked in (("ranker/a", 2, ""), ("ranker", 1, ""), ("ranker/a", 1, "0" * 16)):
        with pytest.raises(NotFound):
            book.find(*asked)


def test_where_nothing_can_be_written_it_is_known_to_this_process(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    book = SchemaBook(tmp_path / "file")
    book.keep(ONE)
    assert book.find("ranker/a", 1) == ONE
    assert "log_schema_not_kept" in caplog.text


def test_a_broken_file_is_told_about_and_hides_no_other(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    SchemaBook(tmp_path).keep(ONE)
    (kept,) = tmp_path.glob("*/*.json")
    kept.with_name("1-broken.json").write_text("{")
    assert SchemaBook(tmp_path).find("ranker/a", 1) == ONE
    assert "log_schema_unreadable" in caplog.text


@pytest.mark.parametrize(
    "document",
    [{}, {"data": [{}]}, {"data": 1}, {"data": [{"feature_name": "x", "feature_type": "FP33"}]}],
)
def test_what_is_no_schema_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        schema_from(document)
