"""The schema a feature service took up last, on its own disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferflow.app.schema_sources import KeptSchema


def test_what_is_kept_is_found_again(tmp_path: Path) -> None:
    kept = KeptSchema(tmp_path / "new" / "schema.yaml")
    assert kept.load() is None
    kept.keep("entities: {}")
    assert kept.load() == "entities: {}"


def test_a_host_that_keeps_nothing_is_served_all_the_same(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("")
    kept = KeptSchema(tmp_path / "file" / "schema.yaml")
    kept.keep("entities: {}")
    assert kept.load() is None
    assert [each.message for each in caplog.records] == ["schema_not_kept", "kept_schema_lost"]


def test_what_is_damaged_is_as_good_as_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "schema.yaml"
    path.write_bytes(b"\xff\xfe")
    assert KeptSchema(path).load() is None
    assert [each.message for each in caplog.records] == ["kept_schema_lost"]
