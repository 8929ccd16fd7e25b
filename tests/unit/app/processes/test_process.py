"""What the parent knows of one child."""

from __future__ import annotations

import asyncio
import logging
from types import SimpleNamespace
from typing import cast

import pytest

from inferflow.app.processes.messages import (
    CouldNotLook,
    LastPage,
    Leaving,
    Report,
    Started,
    Took,
    written,
)
from inferflow.app.processes.process import ChildProcess


def child(*reports: Report | bytes, code: int = 0) -> tuple[ChildProcess, int]:
    """One that said this and then ended with a code."""

    async def lived() -> tuple[ChildProcess, int]:
        stdout = asyncio.StreamReader()
        for report in reports:
            stdout.feed_data(report if isinstance(report, bytes) else written(report))
        stdout.feed_eof()

        async def wait() -> int:
            return code

        popen = SimpleNamespace(pid=7, stdin=None, stdout=stdout, wait=wait)
        found = ChildProcess(1, cast(asyncio.subprocess.Process, popen))
        return found, await found.ended()

    return asyncio.run(lived())


@pytest.mark.parametrize(
    ("reports", "state"),
    [
        ([], "starting"),
        ([Took("v")], "starting"),
        ([Took("v"), Started(1)], "ready"),
        ([Took("v", {"ranker": "no"}), Started(1)], "ready"),
        ([CouldNotLook("no"), Started(1)], "starting"),
        ([Took("v", {}, "no model config is live"), Started(1)], "not ready"),
        ([Took("v"), Started(1), Leaving()], "leaving"),
    ],
)
def test_a_child_stands_as_its_reports_say(reports: list[Report], state: str) -> None:
    assert child(*reports)[0].state == state


def test_one_that_does_not_answer_for_long_is_silent_until_it_does() -> None:
    found, _ = child(Took("v"), Started(1))
    for _ in range(2):
        found.answered(None)
    assert found.state == "ready"
    found.answered(None)
    assert found.state == "silent"
    found.answered(b"page")
    assert found.state == "ready"


def test_it_is_behind_until_it_serves_all_of_the_snapshot() -> None:
    assert child()[0].is_behind("v")
    assert child(Took("u"))[0].is_behind("v")
    assert child(Took("v", {"ranker": "no"}))[0].is_behind("v")
    assert not child(Took("u"), Took("v"))[0].is_behind("v")


def test_the_end_comes_with_its_code_and_its_last_page() -> None:
    found, code = child(Started(1), LastPage("page"), code=-9)
    assert (found.page, code) == (b"page", -9)


def test_what_it_refuses_is_told_once_and_again_when_the_reason_changes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    child(
        Took("v", {"ranker": "no file"}),
        Took("v", {"ranker": "no file"}),
        Took("v", {"ranker": "no memory", "pairs": "no file"}),
        CouldNotLook("no head"),
    )
    told = [(each.getMessage(), each.__dict__.get("config_id")) for each in caplog.records]
    assert told == [
        ("snapshot_refused", "ranker"),
        ("snapshot_refused", "ranker"),
        ("snapshot_refused", "pairs"),
        ("snapshot_unread", None),
    ]
    assert {each.levelno for each in caplog.records} == {logging.ERROR}


def test_what_it_should_not_say_is_told_and_what_follows_is_heard(
    caplog: pytest.LogCaptureFixture,
) -> None:
    found, _ = child(b"hello\n", Started(5))
    assert found.http_port == 5
    assert [each.getMessage() for each in caplog.records] == ["process_unclear"]
