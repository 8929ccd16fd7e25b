"""Two servers of one project, while its config is replaced, broken, removed and put back, and while
they are killed. Every answer must be explained by one version that could be live."""

from __future__ import annotations

import os
import random
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..e2e import serving_process
from ..e2e.serving_process import Process
from ..servers.processes import free_port
from .callers import Callers
from .invariants import REMOVED, Timeline, violations
from .load import eventually
from .scenario import StartScenario
from .versions import Versions

STALE_S = 20.0
"""A busy machine may take long to look at a file; an answer of last minute is still found out."""
RELOADS = 60
BURST = 50
"""Versions put without a pause; a server may see only the last."""
HANG_S = 1.0
SEED = int(os.environ.get("ROBUSTNESS_SEED", "20261"))
"""Of the order in which things go wrong. Another one tries another order."""

pytestmark = pytest.mark.timeout(300)


class Pair:
    """Two servers of one project, and callers of both."""

    def __init__(self, home: Path) -> None:
        self.project = Versions(home / "books")
        self.timeline = Timeline(STALE_S, [(time.monotonic() - 2 * STALE_S, 0)])
        self._ports = [free_port(), free_port()]
        self._servers = [self._start(port) for port in self._ports]
        self.callers = Callers(self._ports, list(self.project.worth()))

    def _start(self, port: int) -> Process:
        return serving_process.start(self.project.folder, "--port", str(port))

    def put(self, version: int) -> None:
        self._note(version)
        self.project.put(version)

    def remove(self) -> None:
        self._note(REMOVED)
        self.project.remove()

    def _note(self, version: int) -> None:
        self.timeline.changes.append((time.monotonic(), version))

    def kill(self, which: int) -> None:
        """And start it again."""
        self._servers[which].close()
        self._servers[which] = self._start(self._ports[which])

    def hang(self, which: int) -> None:
        """For a moment. What it answers then was asked before."""
        self._servers[which].popen.send_signal(signal.SIGSTOP)
        time.sleep(HANG_S)
        self._servers[which].popen.send_signal(signal.SIGCONT)

    def wrong(self) -> list[str]:
        self.callers.end()
        return [*violations(self.callers.answers, self.timeline, self.project.worth())]

    def end(self) -> None:
        self.callers.end()
        for server in self._servers:
            server.close()


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[Pair]:
    made = Pair(tmp_path)
    try:
        made.callers.more(20)
        yield made
    finally:
        made.end()


def test_reloads_under_load_never_mix_versions(pair: Pair, scenario: StartScenario) -> None:
    tried = scenario("C7", f"a config replaced {RELOADS} times under load")
    for version in range(1, RELOADS + 1):
        pair.put(version)
        pair.callers.more(10)
        if version % 10 == 0:
            pair.callers.wait_for(version)
    wrong = pair.wrong()
    seen = {next(iter(each.columns)) for each in pair.callers.answers}
    tried.none("request fails or is marked", pair.callers.failures + pair.callers.marks)
    tried.none(f"answer of {len(pair.callers.answers)} is mixed or stale", wrong)
    tried.at_least("versions seen by callers", len(seen), RELOADS / 10)


def test_a_config_that_comes_and_goes_is_answered_or_not_found(
    pair: Pair, scenario: StartScenario
) -> None:
    tried = scenario("C8", "a config removed and put back under load")
    for version in range(1, 4):
        pair.remove()
        eventually(lambda: not pair.callers.answers[-1].columns)
        pair.put(version)
        pair.callers.wait_for(version)
    wrong = pair.wrong()
    tried.none("other failure or mark", pair.callers.failures + pair.callers.marks)
    tried.none(f"answer of {len(pair.callers.answers)} is mixed or stale", wrong)


def test_everything_at_once_leaves_each_answer_explained(
    pair: Pair, scenario: StartScenario
) -> None:
    tried = scenario("K1", f"reloads, bursts, removals, bad configs, hangs and kills, seed {SEED}")
    chance = random.Random(SEED)
    kinds = ("put", "burst", "bad", "gone", "hang", "kill")
    done = chance.choices(kinds, weights=(6, 2, 2, 1, 2, 1), k=24)
    version = 0
    for what in [*done, *kinds[1:], "put"]:
        version += 1
        if what == "kill":
            pair.kill(chance.randrange(2))
        elif what == "hang":
            pair.hang(chance.randrange(2))
        elif what == "burst":
            for _ in range(BURST):
                version += 1
                pair.put(version)
        elif what == "bad":
            pair.project.put_a_bad_one()
        elif what == "gone":
            pair.remove()
            pair.callers.more(20)
            pair.put(version)
        else:
            pair.put(version)
        pair.callers.more(20)
    pair.callers.wait_for(version)
    wrong = pair.wrong()
    tried.none("failure or mark", pair.callers.failures + pair.callers.marks)
    tried.none(f"answer of {len(pair.callers.answers)} unexplained", wrong)
