"""`inferflow bench` against a real server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inferflow.app.scaffold import write_starter

from .role_process import MAIN, Process
from .serving_process import start

QUICK = ("--duration", "1s", "--warmup", "50ms", "--connections", "4")


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bench") / "books"
    write_starter(folder)
    return folder


@pytest.fixture(scope="module")
def server(books: Path) -> Iterator[Process]:
    process = start(books)
    yield process
    process.close()


def bench(
    server: Process, folder: Path, *arguments: str, interrupt: bool = False
) -> tuple[int, str, str]:
    target = ("--target", f"127.0.0.1:{server.port}", "--dir", str(folder))
    popen = subprocess.Popen(
        [sys.executable, "-c", MAIN, "bench", *target, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    if interrupt:
        assert popen.stderr is not None
        popen.stderr.readline()  # says what it is about to do
        wait_for_answers(server)
        popen.send_signal(signal.SIGINT)
    out, err = popen.communicate(timeout=60)
    return popen.returncode, out, err


def wait_for_answers(server: Process) -> None:
    """Returns when the server has answered calls of the load."""

    def answered() -> float:
        lines = server.get("/metrics")[1].decode().splitlines()
        return sum(
            float(line.rpartition(" ")[2])
            for line in lines
            if line.startswith("inferflow_requests_total{")
        )

    before = answered()
    while answered() < before + 20:
        pass


def measured(server: Process, folder: Path, *arguments: str) -> dict[str, Any]:
    code, out, err = bench(server, folder, "--json", *QUICK, *arguments)
    assert code == 0, err
    report: dict[str, Any] = json.loads(out)
    return report


def test_a_closed_loop_measures_the_requests_of_the_project(server: Process, books: Path) -> None:
    report = measured(server, books, "--concurrency", "4")
    assert report["load"]["loop"] == "closed loop"
    assert (report["failed"], report["failures"]) == (0, {})
    assert report["answered"] > 0
    latency = report["latency_ms"]
    assert 0 < latency["p50"] <= latency["p99"] <= latency["max"]
    assert sum(count for _, count in report["histogram"]) == report["answered"]


def test_an_open_loop_sends_at_its_rate(server: Process, books: Path) -> None:
    report = measured(server, books, "--rate", "50")
    assert report["answered"] + report["unsent"] == 50
    assert set(report["late_ms"]) == set(report["latency_ms"])


def test_several_processes_share_a_load(server: Process, books: Path) -> None:
    report = measured(server, books, "--rate", "40", "--processes", "2")
    assert (report["load"]["processes"], report["answered"]) == (2, 40)


def test_a_request_may_be_written_on_the_command_line(server: Process, books: Path) -> None:
    arguments = ("ranker", "--entity", "user=ada", "--entity", "book=1,2", "--rate", "20")
    assert measured(server, books, *arguments)["load"]["requests"] == 1


def test_people_get_percentiles_and_a_chart(server: Process, books: Path) -> None:
    code, out, err = bench(server, books, *QUICK)
    assert code == 0, err
    assert "answers per second" in out
    for word in ("p50", "p90", "p95", "p99", "max", "latency", "≤"):
        assert word in out
    assert "closed loop, 4 call(s) under way" in err


def test_an_interrupt_reports_what_was_measured_so_far(server: Process, books: Path) -> None:
    long = ("--duration", "1h", "--warmup", "0", "--json")
    code, out, err = bench(server, books, *long, interrupt=True)
    assert code == 0, err
    report = json.loads(out)
    assert report["answered"] > 0
    assert report["seconds"] < 3600


def test_an_interrupt_reaches_every_process(server: Process, books: Path) -> None:
    long = ("--duration", "1h", "--warmup", "0", "--json", "--processes", "2")
    code, out, err = bench(server, books, *long, interrupt=True)
    assert code == 0, err
    assert json.loads(out)["answered"] > 0


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nothing",), "no request to 'nothing'"),
        (("nothing", "--entity", "user=ada"), "no model config 'nothing'"),
        (("--target", "127.0.0.1:1", "--deadline", "200ms"), "no server answered"),
        (("--target", "nowhere"), "host:port"),
    ],
)
def test_a_load_that_cannot_be_sent_says_why(
    arguments: tuple[str, ...], said: str, server: Process, books: Path
) -> None:
    code, _, err = bench(server, books, *QUICK, *arguments)
    assert (code, said in err, "Traceback" in err) == (1, True, False), err
