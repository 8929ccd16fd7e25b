"""The demo, and everything it suggests."""

from __future__ import annotations

import json
import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from .conftest import SCRIPTS, Shell


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


@contextmanager
def serving_demo(folder: Path) -> Iterator[str]:
    """What the demo prints until it serves; Ctrl-C ends it, and nothing is left."""
    popen = subprocess.Popen(
        [str(SCRIPTS / "inferflow"), "demo"], cwd=folder, stdout=subprocess.PIPE, text=True
    )
    assert popen.stdout is not None
    try:
        shown = ""
        while "serving until" not in shown:
            line = popen.stdout.readline()
            assert line, shown
            shown += line
        yield shown
        popen.send_signal(signal.SIGINT)
        assert "nothing is left running" in popen.stdout.read()
        assert popen.wait(60) == 0
    finally:
        popen.kill()
        popen.stdout.close()


def test_the_demo_serves_and_every_call_it_prints_works_as_typed(
    shell: Shell, tmp_path: Path
) -> None:
    with serving_demo(tmp_path / "work") as shown:
        before, _, python = shown.partition(f"in Python ({SCRIPTS / 'python'}):\n")
        curl, explain = [line.strip() for line in before.splitlines() if line.startswith("  ")][-2:]
        assert explain.split()[1] == "explain"
        answer = json.loads(shell(curl).stdout)
        assert min(answer["targets"], key=lambda each: each["rank"])["id"] == "1950"
        assert "1950" in shell(explain).stdout
        code = "\n".join(line.strip() for line in python.splitlines()[:4])
        assert "blend:final_score" in shell(f"python -c {shlex.quote(code)}").stdout


def test_a_second_demo_keeps_what_was_changed(shell: Shell) -> None:
    first = shell("inferflow demo --once").stdout
    shell(
        "sed -i 's/^shop_blend: .*/shop_blend: purchase * 0 + price * 0 + click/' "
        "inferflow-demo/expressions.yaml"
    )
    second = shell("inferflow demo --once").stdout
    assert "using the shop in inferflow-demo" in second
    assert first.splitlines()[5:8] != second.splitlines()[5:8]


@pytest.mark.parametrize("place", ["taken.txt", "full"])
def test_a_place_that_is_taken_is_refused(shell: Shell, place: str) -> None:
    shell("touch taken.txt; mkdir full; touch full/mine")
    assert shell(f"inferflow demo --once --dir {place}", code=1).stderr.startswith("error: ")
    assert shell("ls full").stdout == "mine\n"
