"""More calls than a server can answer: from clients that behave, and from callers that do not.

Goodput is how many answers a second of the server's processor time still brings, beside how many it
can bring. Time by the clock would say how much of the processor the generator and others have left
to the server.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from inferflow.app.scaffold import write_starter
from inferflow.client.connecting import THROTTLE

from ..e2e import serving_process
from ..e2e.role_process import MAIN, Process
from .scenario import StartScenario

pytestmark = pytest.mark.timeout(240)

DEADLINE_MS = 1000
TARGETS = 900
"""A request of the weight that a ranking usually has: some milliseconds of a processor."""
CLIENTS = {3: 0.9, 10: 0.8}
ALL_SENT = {3: 0.5, 10: 0.3}
"""Goodput at so many times the load. Who sends everything makes a server refuse everything, and
that costs it more than it can spare; the page says what to expect."""
SDK = ("--throttle", str(THROTTLE))


@dataclass(frozen=True)
class Sent:
    """What came of a load."""

    report: Any
    per_processor_s: float
    """Answers in a second of the server's processor time."""

    def count(self, code: str) -> int:
        return int(self.report["failures"].get(code, 0))

    def took_s(self, code: str) -> float:
        """How long 99 of 100 calls with that end took at most."""
        return float(self.report["failed_ms"].get(code, {"p99": 0})["p99"] / 1000)

    @property
    def failed(self) -> float:
        """The share of calls that failed."""
        return float(self.report["failed"] / (self.report["failed"] + self.report["answered"]))


class Load:
    """What `inferflow bench` sends, and says."""

    def __init__(self, server: Process, folder: Path) -> None:
        self._process = psutil.Process(server.popen.pid)
        self._command = [
            *(sys.executable, "-c", MAIN, "bench", "ranker"),
            *("--target", f"127.0.0.1:{server.port}", "--dir", str(folder / "books")),
            *("--request", str(folder / "wide.json"), "--deadline", f"{DEADLINE_MS}ms"),
            *("--warmup", "1", "--duration", "4", "--json"),
        ]

    def send(self, *how: str) -> Sent:
        began = sum(self._process.cpu_times()[:2])
        done = subprocess.run(
            [*self._command, *how], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        spent_s = sum(self._process.cpu_times()[:2]) - began
        report = json.loads(done.stdout)
        return Sent(report, report["answered"] / spent_s)


@pytest.fixture
def load(tmp_path: Path) -> Iterator[Load]:
    write_starter(tmp_path / "books")
    listed = [str(number % 12 + 1) for number in range(TARGETS)]
    wide = {"entities": {"user": "ada", "book": listed}}
    (tmp_path / "wide.json").write_text(json.dumps(wide))
    process = serving_process.start(tmp_path / "books")
    yield Load(process, tmp_path)
    process.close()


def test_of_clients_that_behave_a_server_hardly_notices_the_surplus(
    load: Load, scenario: StartScenario
) -> None:
    tried = scenario("I1", "three and ten times the load that can be answered, from clients")
    for times, share in CLIENTS.items():
        calm = load.send("--concurrency", "8")
        rate = calm.report["per_second"]
        got = load.send("--rate", str(rate * times), *SDK)
        kept, answered = got.count("NOT_SENT"), got.report["answered"]
        refused = got.report["failed"] - kept
        goodput = got.per_processor_s / calm.per_processor_s
        tried.at_least(f"answers per processor second at {times} times", goodput, share)
        tried.at_most(
            f"refused by the server for each answer at {times} times", refused / answered, 0.6
        )
        tried.at_most("answers that are our fault", got.count("INTERNAL"), 0)
        tried.within("refused without being sent, p99", got.took_s("NOT_SENT"), 0.005)
        tried.within("refused by the server, p99", got.took_s("RESOURCE_EXHAUSTED"), 0.5)
    after = load.send("--rate", str(rate / 5), *SDK)
    tried.at_most("calls that fail at a fifth of it, two seconds later", after.failed, 0.1)


def test_of_callers_that_send_everything_some_are_cut_off_and_the_rest_is_answered(
    load: Load, scenario: StartScenario
) -> None:
    tried = scenario("I1", "three and ten times the load, all of it sent")
    for times, share in ALL_SENT.items():
        calm = load.send("--concurrency", "8")
        rate = calm.report["per_second"]
        got = load.send("--rate", str(rate * times))
        goodput = got.per_processor_s / calm.per_processor_s
        tried.at_least(f"answers per processor second at {times} times", goodput, share)
        tried.at_least(f"refused with a hint at {times} times", got.count("RESOURCE_EXHAUSTED"), 1)
        tried.at_most("answers that are our fault", got.count("INTERNAL"), 0)
    after = load.send("--rate", str(rate / 5))
    tried.at_most("calls that fail at a fifth of it, two seconds later", after.failed, 0.1)
