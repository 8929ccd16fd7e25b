"""The project that `inferflow init` writes."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import numpy as np
import onnx
import pytest

from inferflow.app.checking import check_project
from inferflow.app.golden import run_golden
from inferflow.app.scaffold import CONFIG, REQUEST, write_starter
from inferflow.errors import InvalidInput

from .starter_model import BIAS, COLUMNS, WEIGHTS, starter_model


def test_the_starter_project_has_no_problems_and_passes_its_own_test(starter: Path) -> None:
    assert check_project(starter) == []
    assert [outcome.passed for outcome in run_golden(starter)] == [True]


def test_its_expectations_are_the_formula_in_plain_numbers(starter: Path) -> None:
    request = json.loads((starter / REQUEST).read_text("utf-8"))
    assert request["model_config_id"] == CONFIG
    users, books = (table(starter / f"features/{n}.csv") for n in ("user.profile", "book.facts"))
    user = users[request["entities"]["user"]]
    for at, book_id in enumerate(request["entities"]["book"]):
        facts = {**user, **books[book_id]}
        logit = BIAS + sum(
            weight * float(facts[name]) for weight, name in zip(WEIGHTS, COLUMNS, strict=True)
        )
        like = 1 / (1 + np.exp(-logit))
        score = like * (1 + 0.5 * float(facts["likes_new"]) / (1 + float(facts["years_old"])))
        assert request["expect"]["like_model:like"][at] == pytest.approx(like, abs=1e-6)
        assert request["expect"]["pick:score"][at] == pytest.approx(score, abs=1e-6)


def table(path: Path) -> dict[str, dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        return {next(iter(row.values())): row for row in csv.DictReader(lines)}


def test_its_model_is_made_from_the_numbers_beside_this_test(starter: Path) -> None:
    shipped = onnx.load(starter / "models/like_model/1/model.onnx")
    assert shipped == starter_model()


def test_an_empty_folder_may_be_used(tmp_path: Path) -> None:
    assert (tmp_path / "configs/ranker.yaml") in write_starter(tmp_path)


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(InvalidInput, match="not an empty folder"):
        write_starter(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(InvalidInput, match="not an empty folder"):
        write_starter(tmp_path / "mine.txt")


def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("keep")
    with pytest.raises(InvalidInput, match="cannot be written here"):
        write_starter(tmp_path / "mine.txt" / "deeper")
