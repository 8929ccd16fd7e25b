"""The metrics of all processes on one page."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import cast

import pytest

from inferflow.api.http import HttpServer, Reply, start_http
from inferflow.app.processes.messages import LastPage
from inferflow.app.processes.pages import Pages
from inferflow.app.processes.process import ChildProcess


def page(requests: int, up: int = 1) -> bytes:
    return (
        "# HELP asked_total Requests.\n# TYPE asked_total counter\n"
        f'asked_total{{config="a"}} {requests}\n'
        f"# HELP up Up.\n# TYPE up gauge\nup {up}\n"
    ).encode()


def child() -> ChildProcess:
    popen = SimpleNamespace(pid=1, stdin=None, stdout=None)
    return ChildProcess(1, cast(asyncio.subprocess.Process, popen))


def numbers(text: bytes) -> tuple[float, float]:
    """Requests and processes up."""
    lines = dict(line.rsplit(" ", 1) for line in text.decode().splitlines() if line[0] != "#")
    return float(lines.get('asked_total{config="a"}', 0)), float(lines.get("up", 0))


def test_counters_add_up_and_one_that_ended_goes_on_counting() -> None:
    pages = Pages(lambda: page(0, up=0))
    one, other = child(), child()
    one.answered(page(5))
    other.answered(page(7))
    assert numbers(pages.together([one, other])) == (12, 2)
    pages.retire(other.page)
    assert numbers(pages.together([one])) == (12, 1)
    pages.retire(one.page)
    assert numbers(pages.together([])) == (12, 0)


def test_a_child_that_was_never_seen_adds_nothing() -> None:
    pages = Pages(lambda: page(0, up=0))
    pages.retire(b"")
    assert numbers(pages.together([child()])) == (0, 0)


def test_a_page_that_cannot_be_read_costs_its_own_counts_only(
    caplog: pytest.LogCaptureFixture,
) -> None:
    pages = Pages(lambda: page(0, up=0))
    pages.retire(page(5))
    pages.retire(b"what is this")
    assert numbers(pages.together([])) == (5, 0)
    assert [each.getMessage() for each in caplog.records] == ["page_lost"]


def test_an_answer_that_comes_after_the_last_page_does_not_replace_it() -> None:
    leaving = child()
    leaving._hear(LastPage(page(9).decode()))
    leaving.answered(page(8))
    assert leaving.page == page(9)


def test_children_are_asked_and_one_that_is_silent_is_shown_as_last_seen() -> None:
    async def asked() -> tuple[ChildProcess, tuple[float, float], tuple[float, float]]:
        server: HttpServer = await start_http({"/metrics": lambda: Reply(page(3))})
        pages, one = Pages(lambda: page(0, up=0)), child()
        one.http_port = server.port
        await pages.refresh([one, child()])
        before = numbers(pages.together([one]))
        await server.close()
        for _ in range(3):
            await pages.refresh([one])
        return one, before, numbers(pages.together([one]))

    one, before, after = asyncio.run(asked())
    assert before == after == (3, 1)
    assert one.unanswered == 3
