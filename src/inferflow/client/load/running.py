"""A load from start to end, in this process or in several.

Ctrl-C ends it early; what was measured until then is reported.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import os
import selectors
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from multiprocessing.synchronize import Barrier

from inferflow.client.load.generator import Generator
from inferflow.client.load.plan import Load
from inferflow.client.load.report import LoadReport, report_of
from inferflow.client.load.tally import Tally, merged
from inferflow.client.load.wire import connected
from inferflow.errors import EngineFault, Unreachable
from inferflow.rpc.channel import target_of

_START_S = 60.0
"""For all processes to be ready."""


def run_load(load: Load, processes: int = 1) -> LoadReport:
    """Send it, and say what came of it. Raises Unreachable when no connection comes up."""
    target_of(load.target)  # a wrong address is told at once, and by this process
    shares = load.shares(processes)
    tally = _measured(load) if processes == 1 else _beside(shares)
    return report_of(load, tally)


def _measured(load: Load, ready: Callable[[], object] = lambda: None) -> Tally:
    async def main() -> Tally:
        stop = asyncio.Event()
        async with connected(load) as ask:
            with _stopped_by_interrupt(stop):
                ready()
                return await Generator(load, ask).run(stop)

    with asyncio.Runner(loop_factory=_exact_loop) as runner:
        return runner.run(main())


def _exact_loop() -> asyncio.AbstractEventLoop:
    # The usual selector rounds timers up to a whole millisecond, and would send that much late.
    return asyncio.SelectorEventLoop(selectors.SelectSelector())


def _beside(shares: list[Load]) -> Tally:
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(len(shares))
    started: list[tuple[SpawnProcess, Connection]] = []
    try:
        for share in shares:
            ours, theirs = context.Pipe(duplex=False)
            process = context.Process(target=_child, args=(share, theirs, barrier), daemon=True)
            process.start()
            theirs.close()
            started.append((process, ours))
        with _passed_on(started):
            return merged(_answer(ours, shares[0].target) for _, ours in started)
    finally:
        for process, ours in started:
            process.kill()
            process.join()
            ours.close()


def _child(share: Load, answer: Connection, barrier: Barrier) -> None:
    try:
        answer.send(_measured(share, lambda: barrier.wait(_START_S)))
    except Unreachable as away:
        barrier.abort()
        answer.send(away.why)
    except threading.BrokenBarrierError:
        answer.send("the connections of another process did not come up")
    except KeyboardInterrupt:
        barrier.abort()
        answer.send("interrupted before the first call")


def _answer(ours: Connection, target: str) -> Tally:
    try:
        got: Tally | str = ours.recv()
    except EOFError:
        raise EngineFault("a process of the load generator ended before it was done") from None
    if isinstance(got, str):
        raise Unreachable(target, 1, got)
    return got


@contextmanager
def _stopped_by_interrupt(stop: asyncio.Event) -> Iterator[None]:
    if not _decides_about_signals():
        yield
        return
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, stop.set)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


@contextmanager
def _passed_on(started: list[tuple[SpawnProcess, Connection]]) -> Iterator[None]:
    """Ctrl-C ends the processes, not the wait for what they measured."""
    if not _decides_about_signals():
        yield
        return

    def interrupt(*_: object) -> None:
        for process, _ours in started:
            if process.pid is not None and process.is_alive():
                os.kill(process.pid, signal.SIGINT)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _decides_about_signals() -> bool:
    return threading.current_thread() is threading.main_thread()
