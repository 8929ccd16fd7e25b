"""Mixed load for as long as SOAK_SECONDS says, while configs are reloaded and other processes are
killed and started again. Nothing may grow, and every answer must be right or marked."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from ..e2e import serving_process, worker_process
from ..e2e.gateway_process import GatewayProcess, start_gateway
from ..e2e.serving_process import Process
from ..servers.processes import free_port
from .callers import Callers
from .inspected import Looking, Watched
from .invariants import Timeline, violations
from .load import BOOKS, eventually
from .scenario import Scenario, StartScenario
from .versions import MOST, Versions

SECONDS = float(os.environ.get("SOAK_SECONDS", "20"))
STALE_S = 20.0
RELOAD_S, KILL_S = 0.5, 5.0

pytestmark = pytest.mark.timeout(SECONDS * 2 + 240)


def inspected_server(folder: Path, inside: Path) -> Process:
    script = Path(__file__).with_name("inspected_main.py")
    popen = subprocess.Popen(
        [sys.executable, str(script), "serve", str(folder), "--port", "0", "--http-port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "INSPECTED": str(inside), "INFERFLOW_DRAIN_PAUSE": "0ms"},
    )
    assert popen.stdout is not None
    said = "".join(popen.stdout.readline() for _ in range(3))
    found = re.fullmatch(r"gRPC  \S+:(\d+)\nHTTP  (http://[^/]+)/.*\nready.*\n", said)
    assert found, said
    return Process(popen, int(found[1]), found[2])


class Site:
    """A server that is watched, one beside it and a worker that are killed, and a gateway."""

    def __init__(self, home: Path) -> None:
        self.project = Versions(home / "books")
        self._models = Versions(home / "models").folder
        self._ports = {"worker": free_port(), "server": free_port()}
        endpoint = f'[endpoints]\n"" = "127.0.0.1:{self._ports["worker"]}"\n'
        (self.project.folder / "inferflow.toml").write_text(endpoint)
        self._killed: dict[str, Process | worker_process.WorkerProcess] = {}
        self._start("worker")
        self._start("server")
        self.server = inspected_server(self.project.folder, home / "inside")
        self.gateway: GatewayProcess = start_gateway("--target", f"127.0.0.1:{self.server.port}")
        self.watched = [
            Watched("server", self.server.popen.pid, home / "inside"),
            Watched("gateway", self.gateway.popen.pid),
        ]

    @property
    def ports(self) -> list[int]:
        return [self.server.port, self._ports["server"]]

    def _start(self, which: str) -> None:
        port = self._ports[which]
        if which == "worker":
            self._killed[which] = worker_process.start(self._models, port=port)
        else:
            self._killed[which] = serving_process.start(self.project.folder, "--port", str(port))

    def kill(self, which: str) -> None:
        """And start it again."""
        self._killed[which].close()
        self._start(which)

    def close(self) -> None:
        self.gateway.close()
        for each in (self.server, *self._killed.values()):
            each.close()


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    made = Site(tmp_path)
    yield made
    made.close()


class JsonCallers:
    """Two who ask the gateway, and have every tenth request explained."""

    def __init__(self, url: str) -> None:
        self.answers = 0
        self.failures: list[str] = []
        self._url = url
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._ask) for _ in range(2)]
        for thread in self._threads:
            thread.start()

    def _ask(self) -> None:
        with httpx.Client(base_url=self._url, timeout=30) as http:
            while not self._ends.is_set():
                asked = {"explain": "true"} if self.answers % 10 == 0 else {}
                found = http.post("/v1/score/ranker", json={"entities": BOOKS}, params=asked)
                self.answers += 1
                if found.status_code != 200:
                    self.failures.append(found.text)

    def end(self) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()


def torment(site: Site, timeline: Timeline, seconds: float) -> tuple[int, int]:
    """(reloads, kills) within so many seconds."""
    chance = random.Random(1)
    ends, kill_at = time.monotonic() + seconds, time.monotonic() + KILL_S
    reloads = kills = 0
    while time.monotonic() < ends:
        reloads += 1
        timeline.changes.append((time.monotonic(), reloads % MOST))
        site.project.put(reloads % MOST)
        if time.monotonic() > kill_at:
            site.kill(chance.choice(("worker", "server")))
            kills, kill_at = kills + 1, time.monotonic() + KILL_S
        time.sleep(RELOAD_S)
    return reloads, kills


def state_growth(tried: Scenario, watched: Watched) -> None:
    name = watched.name
    before, after = watched.grown(lambda held: held.memory_mib)
    tried.at_most(f"memory of the {name} at the end", after, before * 1.05 + 4, " MiB")
    before, after = watched.grown(lambda held: held.threads)
    tried.at_most(f"threads of the {name} at the end", after, before + 2)
    before, after = watched.grown(lambda held: held.files)
    tried.at_most(f"files of the {name} at the end", after, before + 8)


def test_nothing_grows_under_load_with_reloads_and_restarts(
    site: Site, scenario: StartScenario
) -> None:
    timeline = Timeline(STALE_S, [(time.monotonic() - 2 * STALE_S, 0)])
    callers = Callers(site.ports, list(site.project.worth()))
    spoken = JsonCallers(site.gateway.url)
    server = site.watched[0]
    looking = Looking(site.watched)
    try:
        callers.more(50)
        before = server.counts()
        reloads, kills = torment(site, timeline, SECONDS)
        callers.more(50)
    finally:
        for each in (looking, callers, spoken):
            each.end()
    tried = scenario("I9", f"{SECONDS:g} s of load, {reloads} reloads, {kills} kills")
    tried.none(f"request of {len(callers.answers)} fails", callers.failures)
    tried.none(f"request of {spoken.answers} in JSON fails", spoken.failures)
    wrong = violations(callers.answers, timeline, site.project.worth())
    tried.none(f"unexplained answer, {len(callers.marks)} rows marked", wrong)
    for each in site.watched:
        state_growth(tried, each)
    eventually(lambda: server.counts()["tasks"] <= before["tasks"])
    after = server.counts()
    tried.at_most("tasks at rest", after["tasks"], before["tasks"])
    tried.at_most("versions held ready to score", after["scorers"], before["scorers"] + 2)
