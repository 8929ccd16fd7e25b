"""Servers without room on their disk, and without another file to open."""

from __future__ import annotations

import re
import socket
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

import inferflow
from inferflow.app.scaffold import write_starter

from ..e2e import serving_process
from ..e2e.serving_process import Process
from .faults import most_files, small_disk
from .load import BOOKS, Load, eventually
from .scenario import StartScenario

LOGGED = {"INFERFLOW_LOG_SINK": "files"}


def counted(process: Process, name: str) -> float:
    page = process.get("/metrics")[1].decode()
    return sum(map(float, re.findall(rf"^{name}(?:\{{.*\}})? (\S+)$", page, re.M)))


def test_new_connections_wait_while_there_is_no_file_left_and_old_ones_are_served(
    tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("I5", "no file handle left")
    write_starter(tmp_path / "books")
    process = serving_process.start(tmp_path / "books")
    load = Load(process.port, callers=2)
    try:
        load.wait_for("clean")
        with most_files(process.popen.pid, 8), ExitStack() as held:
            for _ in range(64):
                held.enter_context(socket.create_connection(("127.0.0.1", process.port)))
            load.wait_for("clean", 200)
        with inferflow.connect(f"127.0.0.1:{process.port}", deadline_ms=30_000) as client:
            eventually(lambda: len(client.score("ranker", entities=BOOKS)) == 3)
        load.end()
        tried.none("request over an old connection fails", load.failures)
        tried.holds("it lives", process.popen.poll(), process.popen.poll() is None)
    finally:
        load.end()
        process.close()
