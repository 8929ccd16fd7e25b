"""`inferflow features`"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from .conftest import Run


@pytest.fixture
def shop(starter: Path) -> Path:
    """The starter project with a composite key and a vector."""
    with (starter / "features/schema.yaml").open("a", encoding="utf-8") as schema:
        schema.write(
            """
  shelf:
    keys: [user_id, book_id]
    groups:
      notes:
        dtype: FP32
        ttl: 30d
        features:
          stars: {default: 3.0}
          mood: {dtype: FP32Vector, dim: 3}
"""
        )
    return starter


def features(run: Run, shop: Path, *key: str) -> dict[str, dict[str, Any]]:
    found = json.loads(run("features", "get", *key, "-d", shop, "--json").stdout)
    return {each["feature"]: each for each in found["features"]}


def test_the_schema_is_shown(run: Run, shop: Path) -> None:
    text = run("features", "schema", "-d", shop).stdout
    assert "shelf, by user_id, book_id" in text
    assert "notes, kept for 30 d" in text
    found = json.loads(run("features", "schema", "-d", shop, "--json").stdout)
    (shelf,) = [each for each in found["entities"] if each["entity"] == "shelf"]
    assert shelf["groups"][0]["features"][1] == {
        "feature": "mood",
        "dtype": "FP32Vector",
        "dim": 3,
        "default": None,
    }


def test_loaded_features_can_be_looked_up(run: Run, shop: Path) -> None:
    text = run("features", "get", "book", "10", "-d", shop).stdout
    (title,) = [line for line in text.splitlines() if "title" in line]
    assert "The Copper Fox" in title
    assert "real" in title


def test_an_unknown_key_shows_defaults_as_missing(run: Run, shop: Path) -> None:
    assert features(run, shop, "book", "99")["price"] == {
        "group": "facts",
        "feature": "price",
        "value": 12.0,
        "state": "missing",
        "age_s": None,
    }


def test_what_is_put_is_what_is_got(run: Run, shop: Path) -> None:
    run("features", "put", "shelf", "ada", "10", "stars=4.5", "mood=1:2:3", "-d", shop)
    found = features(run, shop, "shelf", "ada", "10")
    assert (found["stars"]["value"], found["mood"]["value"]) == (4.5, [1.0, 2.0, 3.0])
    assert found["stars"]["state"] == "real"


def test_a_put_leaves_other_features_as_they_are_and_an_empty_value_clears(
    run: Run, shop: Path
) -> None:
    run("features", "put", "book", "10", "price=1", "-d", shop)
    run("features", "put", "book", "10", "rating=", "-d", shop)
    found = features(run, shop, "book", "10")
    assert (found["price"]["value"], found["price"]["state"]) == (1.0, "real")
    assert (found["rating"]["value"], found["rating"]["state"]) == (3.5, "default")
    assert found["title"]["value"] == "The Copper Fox"


def test_a_deleted_key_is_missing_and_stays_so(run: Run, shop: Path) -> None:
    run("features", "delete", "book", "10", "-d", shop)
    assert features(run, shop, "book", "10")["price"]["state"] == "missing"
    assert "10" in run("features", "delete", "book", "10", "-d", shop, code=1).stderr


def test_an_export_imports_back(run: Run, shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "book.facts.csv"
    assert "12 row(s)" in run("features", "export", "book", "facts", file, "-d", shop).stdout
    with file.open(encoding="utf-8", newline="") as lines:
        assert {row["book_id"] for row in csv.DictReader(lines)} == {str(n) for n in range(1, 13)}
    run("features", "delete", "book", "10", "-d", shop)
    assert "12 row(s)" in run("features", "import", file, "-d", shop).stdout
    assert features(run, shop, "book", "10")["price"]["value"] == 14.0


def test_an_import_with_a_wrong_row_says_which(run: Run, shop: Path, tmp_path: Path) -> None:
    file = tmp_path / "prices.csv"
    file.write_text("book_id,price\n1,5\n2,cheap\n")
    refused = run("features", "import", file, "-e", "book", "-g", "facts", "-d", shop, code=1)
    assert "prices.csv, row 2" in refused.stderr
    assert features(run, shop, "book", "1")["price"]["value"] == 9.5


@pytest.mark.parametrize(
    ("arguments", "code", "what"),
    [
        (["get", "bok", "1"], 1, "did you mean 'book'"),
        (["get", "shelf", "ada"], 1, "user_id, book_id"),
        (["put", "shelf", "ada", "10"], 2, "USER_ID BOOK_ID"),
        (["put", "book", "10", "prise=3"], 1, "did you mean 'price'"),
        (["put", "book", "10", "price"], 2, "'price' is not NAME=VALUE"),
        (["put", "book", "10", "price=1", "price=2"], 2, "'price' is given twice"),
        (["put", "book", "10", "price=1e39"], 1, "'1e39' has no form in FP32"),
        (["export", "book", "fact", "x.csv"], 1, "did you mean 'facts'"),
        (["import", "gone.csv", "-e", "book"], 1, "gone.csv"),
    ],
)
def test_mistakes_are_told(
    run: Run, shop: Path, arguments: list[str], code: int, what: str
) -> None:
    assert what in run("features", *arguments, "-d", shop, code=code).stderr


def test_a_store_that_forgets_takes_no_changes(run: Run, shop: Path) -> None:
    (shop / "inferflow.toml").write_text("feature_backend = 'memory'\n")
    refused = run("features", "put", "book", "1", "price=3", "-d", shop, code=1)
    assert "feature_backend = 'lmdb'" in refused.stderr
    assert features(run, shop, "book", "1")["price"]["value"] == 9.5
