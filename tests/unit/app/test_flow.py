"""A project, opened in this process."""

from __future__ import annotations

from pathlib import Path

import pytest

import inferflow


def test_a_closed_project_scores_nothing(starter: Path) -> None:
    flow = inferflow.open(starter)
    scores = flow.score("ranker", user="ada", book=["1", "2"])
    flow.close()
    with pytest.raises(inferflow.InferflowError, match="closed"):
        flow.score("ranker", user="ada", book=["1", "2"])
    with pytest.raises(inferflow.InferflowError, match="closed"):
        scores.explain()


def test_an_answer_that_asked_for_it_is_explained_by_itself_and_not_by_another(
    starter: Path,
) -> None:
    with inferflow.open(starter) as flow:
        plain = flow.score("ranker", user="ada", book=["1", "2"])
        kept = flow.score("ranker", user="ada", book=["1", "2"], explain=True)
        assert kept.to_dict() == plain.to_dict()
    explained = kept.explain()
    assert explained.to_dict() == kept.explain().to_dict()
    assert explained.item("2").to_dict()["rows"][0]["row"] == 1
