"""Remembering which feature files are in the store."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from inferflow.app.loaded_files import Beside, LoadedFiles, Within
from inferflow.errors import InvalidInput
from inferflow.featurestore import MemoryBackend

KINDS: dict[str, Callable[[Path], LoadedFiles]] = {
    "beside": lambda folder: Beside(folder / "loaded.json"),
    "within": lambda _: Within(MemoryBackend()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_was_added_is_known_by_its_mark(tmp_path: Path, kind: str) -> None:
    loaded = KINDS[kind](tmp_path)
    assert loaded.read() == {}
    loaded.add("a.csv", "1")
    loaded.add("b.csv", "2")
    loaded.add("a.csv", "3")
    assert loaded.read() == {"a.csv": "3", "b.csv": "2"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_with_other_content_has_another_mark(tmp_path: Path, kind: str) -> None:
    loaded = KINDS[kind](tmp_path)
    path = tmp_path / "a.csv"
    path.write_text("id,x\n1,2\n")
    before = loaded.mark(path)
    assert loaded.mark(path) == before
    path.write_text("id,x\n1,23\n")
    assert loaded.mark(path) != before


def test_a_shared_store_goes_by_what_a_file_holds_and_not_by_its_time(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("id,x\n1,2\n")
    loaded = Within(MemoryBackend())
    before = loaded.mark(path)
    os.utime(path, ns=(1, 1))
    assert loaded.mark(path) == before


def test_a_memory_that_cannot_be_read_says_how_to_go_on(tmp_path: Path) -> None:
    (tmp_path / "loaded.json").write_text("{")
    with pytest.raises(InvalidInput, match="delete it"):
        Beside(tmp_path / "loaded.json").read()
