"""A bench on a folder that this process does not serve."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from inferflow.app.backoffice.features import ShelfFeatures
from inferflow.app.backoffice.folder_bench import FolderBenches
from inferflow.app.backoffice.playground import BenchPlayground
from inferflow.app.wiring import open_embedded
from inferflow.errors import InvalidInput

REQUEST = {"entities": {"user": "ada", "book": ["1", "2"]}}


@pytest.fixture
def benches(starter: Path) -> Iterator[FolderBenches]:
    open_embedded(starter).close()  # somebody serves, or served, this project
    opened = FolderBenches(starter)
    yield opened
    opened.close()


def test_it_scores_what_is_written_on_features_others_have_loaded(
    starter: Path, benches: FolderBenches
) -> None:
    playground = BenchPlayground(benches)
    told = asyncio.run(playground.play("ranker", REQUEST, item=None, overrides={}))
    assert told["run"]["steps"][1]["stand_ins"] == {}
    first = benches.bench()
    assert benches.bench().book is first.book
    text = (starter / "configs/ranker.yaml").read_text()
    (starter / "configs/other.yaml").write_text(text.replace("ranker:\n", "other:\n"))
    assert set(benches.bench().book.ids) == {"ranker", "other"}


def test_features_can_be_written_where_others_read_them(
    starter: Path, benches: FolderBenches
) -> None:
    row = {"key": ["ada"], "values": {"likes_new": 0.25}}
    assert asyncio.run(ShelfFeatures(benches).put("user", "profile", [row])) == 1
    opened = open_embedded(starter)
    values = {each.feature: each.value for each in opened.store.get("user", "ada")}
    opened.close()
    assert values["likes_new"] == 0.25


def test_features_in_memory_are_those_of_the_files_and_not_for_writing(
    starter: Path,
) -> None:
    benches = FolderBenches(starter, {"feature_backend": "memory"})
    try:
        told = asyncio.run(
            BenchPlayground(benches).play("ranker", REQUEST, item=None, overrides={})
        )
        assert told["run"]["steps"][1]["stand_ins"] == {}
        with pytest.raises(InvalidInput, match="keeps features in memory"):
            benches.refuse_writing()
        assert benches.kind == "memory"
    finally:
        benches.close()


def test_what_was_never_loaded_is_said(starter: Path) -> None:
    benches = FolderBenches(starter)
    try:
        with pytest.raises(InvalidInput, match="have not been loaded yet"):
            benches.bench()
    finally:
        benches.close()
