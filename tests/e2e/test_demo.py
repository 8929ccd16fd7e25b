"""The demo, and everything it suggests."""

from __future__ import annotations

import shlex

import pytest

from .conftest import Shell


def test_the_demo_prints_a_ranking_and_every_hint_works_as_typed(shell: Shell) -> None:
    shown = shell("inferflow demo --once --dir 'my shop'").stdout
    ranked = [line for line in shown.splitlines() if line.split()[:1] and line.split()[0].isdigit()]
    assert [line.split()[0] for line in ranked] == [str(rank) for rank in range(1, 13)]
    before, _, python = shown.partition("in Python (python):\n")
    hints = [line.strip() for line in before.splitlines() if line.startswith("  inferflow ")]
    assert {hint.split()[1] for hint in hints} == {"explain", "score", "validate", "test"}
    for hint in hints:
        assert shell(hint).stdout
    code = "\n".join(line.strip() for line in python.splitlines())
    explained = shell(f"python -c {shlex.quote(code)}").stdout
    assert "blend:final_score" in explained
    assert "█" in explained


def test_a_second_demo_keeps_what_was_changed(shell: Shell) -> None:
    first = shell("inferflow demo").stdout
    shell(
        "sed -i 's/^shop_blend: .*/shop_blend: purchase * 0 + price * 0 + click/' "
        "inferflow-demo/expressions.yaml"
    )
    second = shell("inferflow demo").stdout
    assert "using the shop in inferflow-demo" in second
    assert first.splitlines()[5:8] != second.splitlines()[5:8]


@pytest.mark.parametrize("place", ["taken.txt", "full"])
def test_a_place_that_is_taken_is_refused(shell: Shell, place: str) -> None:
    shell("touch taken.txt; mkdir full; touch full/mine")
    assert shell(f"inferflow demo --dir {place}", code=1).stderr.startswith("error: ")
    assert shell("ls full").stdout == "mine\n"
