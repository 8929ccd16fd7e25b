"""What parent and child tell each other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from inferflow.app.processes.messages import (
    CouldNotLook,
    LastPage,
    Leaving,
    Orders,
    Report,
    Started,
    Took,
    read,
    written,
)
from inferflow.app.settings import read_settings
from inferflow.errors import EngineFault


@pytest.mark.parametrize(
    "report",
    [
        Started(1234),
        Took("v", {"ranker": "its model is gone\nreally"}, "not yet"),
        CouldNotLook("no such file"),
        Leaving(),
        LastPage("# HELP é\n" * 10_000),
    ],
)
def test_a_report_is_one_line_and_comes_back_as_it_was(report: Report) -> None:
    line = written(report)
    assert line.count(b"\n") == 1
    assert read(line) == report


@pytest.mark.parametrize("line", [b"", b"hello\n", b'["Nobody", {}]\n', b'["Started", {}]\n'])
def test_what_no_child_says_is_refused(line: bytes) -> None:
    with pytest.raises(EngineFault, match="a child said"):
        read(line)


def test_orders_are_read_to_their_last_byte_and_no_further(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = read_settings(tmp_path)
    orders = Orders(tmp_path, settings, tmp_path / "home", 5, 2)
    ours, theirs = os.pipe()
    os.write(theirs, orders.packed() + b"look\n")
    monkeypatch.setenv("APP_PORT", "1")  # changed since: the child must not see it
    assert Orders.read(ours) == orders
    assert os.read(ours, 100) == b"look\n"
    os.close(theirs)
    with pytest.raises(EngineFault, match="without orders"):
        Orders.read(ours)
    os.close(ours)
