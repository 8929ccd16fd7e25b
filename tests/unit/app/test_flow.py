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
