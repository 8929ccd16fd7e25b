"""`write_shop`: the same shop every time, and never a file of the user's overwritten."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from inferflow.demo import write_shop
from inferflow.errors import InvalidInput

SEED_7 = "b3c8951ee1a0dbfabea120addfde38bf109df4ed065e19f843ea20f523825d18"


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("demo") / "shop"
    write_shop(folder)
    return folder


def test_a_shop_is_a_whole_project(shop: Path) -> None:
    found = contents(shop)
    assert {
        "inferflow.toml",
        "README.md",
        "expressions.yaml",
        "features/schema.yaml",
        "features/user.profile.csv",
        "features/product.attributes.csv",
        "features/product.popularity.csv",
        "features/user_category.affinity.csv",
        "configs/ranker.yaml",
        "models/click_model/1/model.onnx",
        "requests/ranker.json",
    } <= found.keys()
    assert not [name for name in found if name.endswith(".part")]


def test_the_same_seed_writes_the_same_bytes(shop: Path, tmp_path: Path) -> None:
    write_shop(tmp_path / "again")
    assert contents(tmp_path / "again") == contents(shop)


def test_the_default_shop_never_changes_because_the_golden_scores_rest_on_it(shop: Path) -> None:
    digest = hashlib.sha256()
    for path in sorted((shop / "features").glob("*.csv")):
        digest.update(path.read_bytes())
    assert digest.hexdigest() == SEED_7


def test_another_seed_is_another_shop_without_expected_scores(shop: Path, tmp_path: Path) -> None:
    write_shop(tmp_path, seed=8)
    for path in (shop / "features").glob("*.csv"):
        assert (tmp_path / "features" / path.name).read_bytes() != path.read_bytes()
    for path in (shop / "requests").glob("*.json"):
        golden = json.loads(path.read_text("utf-8"))
        request = json.loads((tmp_path / "requests" / path.name).read_text("utf-8"))
        assert golden.pop("expect")
        assert golden.pop("tolerance")
        assert request == golden


def test_the_files_written_are_reported(tmp_path: Path) -> None:
    written = write_shop(tmp_path)
    assert {str(path.relative_to(tmp_path)) for path in written} == contents(tmp_path).keys() - {
        ".demo-shop"
    }


def test_a_second_run_keeps_edits_and_brings_back_only_what_is_gone(tmp_path: Path) -> None:
    write_shop(tmp_path)
    edited = [tmp_path / "configs/ranker.yaml", tmp_path / "features/user.profile.csv"]
    for path in edited:
        path.write_text("mine", "utf-8")
    (tmp_path / "expressions.yaml").unlink()
    (tmp_path / "features/product.popularity.csv").unlink()

    written = write_shop(tmp_path)

    assert [path.read_text("utf-8") for path in edited] == ["mine", "mine"]
    assert set(written) == {
        tmp_path / "expressions.yaml",
        tmp_path / "features/product.popularity.csv",
    }


def test_a_folder_with_something_else_in_it_is_refused_untouched(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("do not touch", "utf-8")
    with pytest.raises(InvalidInput, match="not empty and not a demo shop"):
        write_shop(tmp_path)
    assert contents(tmp_path) == {"thesis.txt": b"do not touch"}


def test_a_shop_of_another_seed_is_refused_untouched(tmp_path: Path) -> None:
    write_shop(tmp_path)
    before = contents(tmp_path)
    with pytest.raises(InvalidInput, match="demo shop of seed 7, not of seed 8"):
        write_shop(tmp_path, seed=8)
    assert contents(tmp_path) == before


def test_a_file_where_the_folder_should_be_is_named(tmp_path: Path) -> None:
    taken = tmp_path / "shop"
    taken.write_text("", "utf-8")
    with pytest.raises(InvalidInput, match=r"shop is a file"):
        write_shop(taken)


def test_a_folder_that_cannot_be_written_is_named_with_the_reason(tmp_path: Path) -> None:
    write_shop(tmp_path)
    (tmp_path / "expressions.yaml").unlink()
    (tmp_path / "expressions.yaml.part").mkdir()
    with pytest.raises(InvalidInput, match=f"{tmp_path}.*cannot be written.*directory"):
        write_shop(tmp_path)
