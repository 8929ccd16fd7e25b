"""`inferflow test`"""

from __future__ import annotations

import json
from pathlib import Path

from .conftest import Run


def test_a_passing_project_passes(run: Run, starter: Path) -> None:
    text = run("test", starter).stdout
    assert text.startswith("passed  ranker")
    assert text.splitlines()[-1] == "1 passed"


def test_a_changed_expression_fails_and_says_where(run: Run, starter: Path) -> None:
    (starter / "expressions.yaml").write_text("pick: like + 0 * likes_new * years_old\n")
    text = run("test", starter, code=1).stdout
    assert "pick:score[0]: expected 0.7353165" in text
    assert "12 values differ" in text
    assert text.splitlines()[-1] == "0 passed, 1 failed"


def test_programs_get_every_outcome(run: Run, starter: Path) -> None:
    found = json.loads(run("test", starter, "--json").stdout)
    assert (found["passed"], found["failed"]) == (1, 0)
    (outcome,) = found["requests"]
    assert outcome["outcome"] == "passed"
    assert outcome["worst"] < 1e-5


def test_a_project_with_nothing_to_test_fails(run: Run, starter: Path) -> None:
    (starter / "requests/ranker.json").unlink()
    assert "there is no request to test" in run("test", starter, code=1).stderr


def test_a_request_that_expects_nothing_says_so(run: Run, starter: Path) -> None:
    request = '{"model_config_id": "ranker", "entities": {"user": "ada", "book": ["1"]}}'
    (starter / "requests/ranker.json").write_text(request)
    assert "1 row scored; nothing in particular is expected" in run("test", starter).stdout
