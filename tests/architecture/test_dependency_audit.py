"""An audit that could not be made does not pass for one that found nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from ..dependency_audit import CANARY, PINNED, Run, audit

GOOD = {"name": "numpy", "version": "2.4.0", "vulns": []}
BAD = {"name": "jinja2", "version": "2.4.1", "vulns": [{"id": "PYSEC-1", "fix_versions": ["3.1"]}]}
SKIPPED = {"name": "numpy", "skip_reason": "could not be audited: numpy"}
PAGES: dict[str, Any] = {"metadata": {"dependencies": {"prod": 7}}, "vulnerabilities": {}}


def answering(pinned: Any, canary: Any = (BAD,), pages: Any = PAGES) -> Run:
    def run(command: Sequence[str], folder: Path) -> str:
        if command[0] == "npm":
            return json.dumps(pages)
        file = Path(command[-1])
        if file == PINNED:
            found = pinned
        else:
            assert file.read_text().strip() == CANARY
            found = canary
        return "" if found is None else json.dumps({"dependencies": list(found)})

    return run


def test_everything_looked_up_and_nothing_known_is_good() -> None:
    found = audit(answering([GOOD]), has_npm=True)
    assert (found.code, found.asked) == (0, 8)


def test_a_vulnerability_is_named_with_what_mends_it() -> None:
    found = audit(answering([GOOD, BAD]), has_npm=True)
    assert (found.code, found.vulnerable) == (1, ["jinja2 2.4.1: PYSEC-1, mended by 3.1"])


def test_a_vulnerability_of_the_web_pages_counts() -> None:
    pages = {**PAGES, "vulnerabilities": {"react": {"range": "<1", "severity": "high"}}}
    found = audit(answering([GOOD], pages=pages), has_npm=True)
    assert (found.code, found.vulnerable) == (1, ["react <1: high"])


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (answering(None), "pip-audit gave no answer"),
        (answering([GOOD, SKIPPED]), "1 packages could not be looked up: could not be audited"),
        (answering([GOOD], canary=[GOOD]), "knows nothing"),
        (answering([GOOD], canary=None), "knows nothing"),
        (answering([GOOD], pages={"message": "405"}), "web pages could not be looked up: 405"),
    ],
)
def test_what_could_not_be_found_out_is_no_good_news(run: Run, why: str) -> None:
    found = audit(run, has_npm=True)
    assert found.code == 2
    assert any(why in each for each in found.unknown), found.unknown


def test_without_npm_the_web_pages_are_not_passed_over() -> None:
    assert audit(answering([GOOD]), has_npm=False).code == 2
