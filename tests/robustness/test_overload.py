"""More calls than a server can answer."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from inferflow.app.scaffold import write_starter

from ..e2e import serving_process
from ..e2e.serving_process import MAIN, Process
from .scenario import StartScenario

pytestmark = pytest.mark.timeout(180)

DEADLINE_MS = 1000
GOODPUT = {3: 0.5, 10: 0.25}
"""How many answers a second of processor time still brings, beside how many it can bring, at so
many times the load. Time by the clock would say how much of the processor the generator and others
have left to the server."""


@pytest.fixture
def books(tmp_path: Path) -> Path:
    write_starter(tmp_path / "books")
    listed = [str(number % 12 + 1) for number in range(300)]
    wide = {"entities": {"user": "ada", "book": listed}}
    (tmp_path / "wide.json").write_text(json.dumps(wide))
    return tmp_path / "books"


@pytest.fixture
def server(books: Path) -> Iterator[Process]:
    process = serving_process.start(books)
    yield process
    process.close()


def sent(server: Process, books: Path, *load: str) -> Any:
    """What `inferflow bench` says of a load."""
    target = ("--target", f"127.0.0.1:{server.port}", "--dir", str(books))
    request = ("--request", str(books.parent / "wide.json"), "--deadline", f"{DEADLINE_MS}ms")
    length = ("--warmup", "1", "--duration", "4", "--json")
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "bench", "ranker", *target, *request, *load, *length],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_load_beyond_what_can_be_answered_is_refused_and_the_rest_is_not(
    server: Process, books: Path, scenario: StartScenario
) -> None:
    tried = scenario("I1", "three and ten times the load that can be answered")
    process = psutil.Process(server.popen.pid)

    def sending(*load: str) -> tuple[Any, float]:
        """What came of it, and answers per second of the server's processor time."""
        began = sum(process.cpu_times()[:2])
        got = sent(server, books, *load)
        return got, got["answered"] / (sum(process.cpu_times()[:2]) - began)

    calm, most = sending("--concurrency", "8")
    rate = calm["per_second"]
    for times, share in GOODPUT.items():
        got, answered = sending("--rate", str(rate * times))
        told = got["failures"]
        tried.at_least(f"answers per processor second at {times} times", answered / most, share)
        tried.at_least(f"refused with a hint at {times} times", told["RESOURCE_EXHAUSTED"], 1)
        tried.at_most("answers that are our fault", told.get("INTERNAL", 0), 0)
    after, _ = sending("--rate", str(rate / 5))
    failed = after["failed"] / (after["failed"] + after["answered"])
    tried.at_most("calls that fail at a fifth of it afterwards", failed, 0.1)
