"""Work in threads, and the line before them."""

from __future__ import annotations

import asyncio
import threading
from contextvars import ContextVar

import pytest

from inferflow.api.heavy import HeavyWork
from inferflow.errors import Overloaded
from inferflow.rpc.admission import Patience

NAME: ContextVar[str] = ContextVar("name", default="nobody")


def test_a_thread_knows_what_the_task_knows() -> None:
    async def test() -> None:
        NAME.set("somebody")
        heavy = HeavyWork(Patience(1), threads=1)
        assert await heavy.run(NAME.get) == "somebody"
        heavy.close()

    asyncio.run(test())


def test_work_is_refused_when_the_line_is_too_long_and_not_before() -> None:
    async def test() -> None:
        patience = Patience(0.1)
        for _ in range(100):
            patience.took(0.2)
        heavy = HeavyWork(patience, threads=2)
        go_on = threading.Event()
        heavy.check(60)
        waiting = [asyncio.ensure_future(heavy.run(lambda: go_on.wait(30))) for _ in range(2)]
        await asyncio.sleep(0)
        heavy.check(60)  # half of two tenths of a second is as long as one may wait
        with pytest.raises(Overloaded):
            heavy.check(0.2)
        waiting.append(asyncio.ensure_future(heavy.run(lambda: go_on.wait(30))))
        await asyncio.sleep(0)
        with pytest.raises(Overloaded):
            heavy.check(60)
        go_on.set()
        assert all(await asyncio.gather(*waiting))
        heavy.check(60)
        heavy.close()

    asyncio.run(test())


def test_a_failure_leaves_the_line() -> None:
    async def test() -> None:
        heavy = HeavyWork(Patience(0), threads=1)
        for _ in range(3):
            heavy.check(60)
            with pytest.raises(ZeroDivisionError):
                await heavy.run(lambda: 1 // 0)
        heavy.close()

    asyncio.run(test())
