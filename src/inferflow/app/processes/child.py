"""The program of one child: serves what is accepted until it is told to end.

It is told on its standard input, and reports where its standard output was; whatever prints
in this process goes to standard error. When the parent is gone it finishes the calls under way
and ends, at once: the next parent may be waiting for the port.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from inferflow.app import lifetime, serving
from inferflow.app.config_stores import open_served
from inferflow.app.inference_log import follow_service, open_inference_log
from inferflow.app.operating import watch_serving
from inferflow.app.processes.asking import everyone_through
from inferflow.app.processes.following import Follower
from inferflow.app.processes.messages import (
    CouldNotLook,
    LastPage,
    Leaving,
    Orders,
    Report,
    Started,
    Word,
    written,
)
from inferflow.app.recordings.gathered import GatheredPages
from inferflow.app.recordings.keeper import Keeper
from inferflow.app.recordings.pages import LocalPages
from inferflow.app.recordings.records import Records, open_keeper
from inferflow.app.wiring import Embedded, open_bare
from inferflow.errors import InferflowError
from inferflow.inferlog.log import InferenceLog
from inferflow.telemetry import Telemetry, TelemetrySettings, open_logs

log = logging.getLogger("inferflow.processes")

Say = Callable[[Report], None]


def main() -> int:
    """Take orders, serve, and end with 0 when that was asked for."""
    say = _reporter()
    try:
        orders = Orders.read(sys.stdin.fileno())
        chosen = _own_log(orders.settings.telemetry.chosen(), orders.number)
        logs = open_logs(chosen)
        _number_lines(orders.number)
        keeper = open_keeper(orders.settings.serve)
        inference_log = open_inference_log(orders.root, orders.settings, tag=f"{orders.number}-")
        watching = [keeper, *([inference_log] if inference_log else [])]
        telemetry = watch_serving(orders.settings, watching)
        try:
            _run(orders, telemetry, keeper, say, inference_log)
        finally:
            telemetry.close()
            logs.close()
    except InferflowError as failed:
        print(f"error: {failed}", file=sys.stderr)  # noqa: T201  # the way a command fails
        return 1
    return 0


def _reporter() -> Say:
    """Keeps standard output for reports, and for nothing else."""
    reports = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())

    def say(report: Report) -> None:
        with suppress(BrokenPipeError):  # the parent is gone, which is noticed elsewhere
            reports.write(written(report))
            reports.flush()

    return say


def _number_lines(number: int) -> None:
    """Every line of the log says which process it comes from."""
    make = logging.getLogRecordFactory()

    def numbered(*args: Any, **kwargs: Any) -> logging.LogRecord:
        record = make(*args, **kwargs)
        record.process_number = number
        return record

    logging.setLogRecordFactory(numbered)


def _own_log(chosen: TelemetrySettings, number: int) -> TelemetrySettings:
    """A log file of its own: two processes cannot put one file aside."""
    if not chosen.log_file:
        return chosen
    path = Path(chosen.log_file)
    return replace(chosen, log_file=str(path.with_name(f"{path.stem}.{number}{path.suffix}")))


def _run(
    orders: Orders,
    telemetry: Telemetry,
    keeper: Keeper,
    say: Say,
    inference_log: InferenceLog | None,
) -> None:
    if inference_log is not None:
        inference_log.counts.observer = telemetry.observer
    embedded = open_bare(orders.root, orders.settings, observer=telemetry.observer)
    try:
        telemetry.watch_cache(embedded.cache)
        texts = open_served(orders.root, orders.settings).texts
        follower = Follower(embedded, orders.home, texts, follow_service(inference_log))
        own = LocalPages(keeper, lambda: (), lambda: embedded.book)  # the parent judges configs
        records = Records(keeper, own, GatheredPages(everyone_through(orders.parent_port)))
        lifetime.run(_Child(embedded, follower, telemetry, records, say).serve())
    finally:
        embedded.close()
        if inference_log is not None:
            inference_log.close(orders.settings.logs.flush_timeout / 1000)
    say(LastPage(telemetry.render().decode()))


class _Child:
    def __init__(
        self,
        embedded: Embedded,
        follower: Follower,
        telemetry: Telemetry,
        records: Records,
        say: Say,
    ) -> None:
        self._embedded = embedded
        self._follower = follower
        self._telemetry = telemetry
        self._records = records
        self._say = say
        self._look, self._end, self._hurry = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._has_parent = True

    async def serve(self) -> None:
        loop = asyncio.get_running_loop()
        # Asked to end by anybody, it does so politely; only the parent can hurry it.
        loop.add_signal_handler(signal.SIGTERM, self._end.set)
        obeying = asyncio.ensure_future(self._obey())
        await self._take_up()
        if self._end.is_set():  # it never listened, so nobody waits for it
            return
        server = await serving.start(
            self._embedded,
            observer=self._telemetry.observer,
            metrics=self._telemetry,
            records=self._records,
            shared=True,
        )
        lifetime.keep_what_is_loaded()
        self._say(Started(server.http.port))
        following = asyncio.ensure_future(self._follow(server))
        await self._end.wait()
        self._say(Leaving())
        following.cancel()
        await server.drain(self._hurry, pause=self._has_parent)
        obeying.cancel()

    async def _obey(self) -> None:
        """Do as the parent says, until it is gone."""
        reader = asyncio.StreamReader()
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
        )
        try:
            async for line in reader:
                match line.decode().strip():
                    case Word.LOOK:
                        self._look.set()
                    case Word.DRAIN:
                        self._end.set()
                    case Word.HURRY:
                        self._end.set()
                        self._hurry.set()
        finally:
            self._has_parent = False
            self._end.set()

    async def _follow(self, server: serving.Serving) -> None:
        while True:
            await self._look.wait()
            self._look.clear()
            await self._take_up()
            await server.tell_health()

    async def _take_up(self) -> None:
        """Look at the snapshot in a thread: models are loaded there, and calls go on."""
        try:
            self._say(await asyncio.to_thread(self._follower.look))
        except InferflowError as failed:
            self._say(CouldNotLook(str(failed)))
        except Exception as fault:  # ours: it serves on, and looks again when it is told to
            log.exception("snapshot_failed")
            self._say(CouldNotLook(f"{type(fault).__name__}: {fault}"))


if __name__ == "__main__":
    sys.exit(main())
