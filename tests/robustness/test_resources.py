"""Servers without room on their disk, and without another file to open."""

from __future__ import annotations

import re
import socket
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

LOGGED = {
    "INFERFLOW_LOGS_SINK": "files",
    "INFERFLOW_LOGS_ROTATE_AFTER": "500ms",
    "INFERFLOW_LOGS_KEEP_MB": "1",
}
DELIVERED, LOST = "inferflow_log_messages_total", "inferflow_log_errors_total"

pytestmark = pytest.mark.timeout(180)


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
        is_there = process.popen.poll() is None
        tried.holds("it lives", "running" if is_there else "gone", is_there)
    finally:
        load.end()
        process.close()


def test_a_full_disk_costs_log_messages_and_no_answer(
    tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("I4", "the disk of data and logs full under load")
    project = tmp_path / "books"
    write_starter(project)
    config = project / "configs" / "ranker.yaml"
    written = config.read_text().replace(
        "response_config:", "response_config:\n    logging_perc: 100"
    )
    config.write_text(written)
    with small_disk(tmp_path / "disk", megabytes=32) as disk:
        settings = {**LOGGED, "INFERFLOW_DATA_DIR": str(disk.folder)}
        process = serving_process.start(project, **settings)
        load = Load(process.port, callers=2)
        try:
            load.wait_for("clean")
            eventually(lambda: counted(process, DELIVERED))
            disk.fill()
            eventually(lambda: counted(process, LOST))
            # A version that cannot be recorded is not served; the one before it is.
            config.write_text(written.replace("      - book:facts:price\n", ""))
            load.wait_for("clean", 200)
            lost = counted(process, LOST)
            disk.make_room()
            delivered = counted(process, DELIVERED)
            eventually(lambda: counted(process, DELIVERED) > delivered)
            eventually(lambda: len(_columns(process)) == 3)
            load.end()
            ended = process.end()
            again = serving_process.start(project, **settings)
            columns = _columns(again)
            again.close()
        finally:
            load.end()
            process.close()
    tried.none(f"request of {load.answers} fails", load.failures)
    tried.at_most("marked answers", load.marked, 0)
    tried.at_least("lost log messages that were counted", lost, 1)
    tried.holds("it ends well, and starts again", ended, ended == 0 and len(columns) == 3)


def test_a_disk_that_cannot_be_written_is_said_at_the_start(
    tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("I6", "the disk of data is read-only")
    write_starter(tmp_path / "books")
    with small_disk(tmp_path / "disk", megabytes=4) as disk:
        disk.protect()
        folder = disk.folder / "data"
        with tried.soon_over("it ends", 2):
            popen = serving_process.launch(
                tmp_path / "books",
                "--port",
                "0",
                "--http-port",
                "0",
                INFERFLOW_DATA_DIR=str(folder),
            )
            _, told = popen.communicate(timeout=60)
    last = told.splitlines()[-1]
    tried.holds("it ends with 1", popen.returncode, popen.returncode == 1)
    tried.holds("the path is named", last.replace(str(tmp_path), "…"), str(folder) in last)


def _columns(process: Process) -> set[str]:
    with inferflow.connect(f"127.0.0.1:{process.port}", deadline_ms=30_000) as client:
        return set(client.score("ranker", entities=BOOKS).columns)
