"""Traffic split over two workers, of which one is dead."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import inferflow
from inferflow.app.scaffold import write_starter

from ..e2e import serving_process, worker_process
from ..e2e.serving_process import Process
from ..e2e.worker_process import WorkerProcess
from ..servers.processes import free_port
from .scenario import StartScenario

USERS = 400
SHARE, SLACK = 0.2, 0.08
"""Of the dead one, and how far chance may take it from there with so many users."""


@pytest.fixture
def worker(tmp_path: Path) -> Iterator[WorkerProcess]:
    write_starter(tmp_path / "far")
    made = worker_process.start(tmp_path / "far")
    yield made
    made.close()


@pytest.fixture
def server(tmp_path: Path, worker: WorkerProcess) -> Iterator[Process]:
    project = tmp_path / "near"
    write_starter(project)
    config = project / "configs" / "ranker.yaml"
    named = f'{{"127.0.0.1:{worker.port}": 80, "127.0.0.1:{free_port()}": 20}}'
    text = config.read_text()
    split = text.replace(
        "        model_name: like_model",
        f"        model_end_points: {named}\n        model_name: like_model",
    )
    assert split != text
    config.write_text(split)
    made = serving_process.start(project)
    yield made
    made.close()


def test_a_dead_side_costs_its_own_share_and_no_other(
    server: Process, scenario: StartScenario
) -> None:
    tried = scenario("D6", "one of two endpoints dead, with 20 % of the traffic")
    with inferflow.connect(f"127.0.0.1:{server.port}", deadline_ms=30_000) as client:

        def is_marked(user: int) -> bool:
            asked = {"user": f"u{user}", "book": ["1", "2", "3"]}
            found = client.score("ranker", entities=asked)
            marked = [bool(error) for error in found.errors]
            assert len(set(marked)) == 1, "a request is answered by one side"
            return marked[0]

        first = [is_marked(user) for user in range(USERS)]
        again = [is_marked(user) for user in range(0, USERS, 10)]
    tried.at_most("marked share", sum(first) / USERS, SHARE + SLACK)
    tried.at_least("marked share", sum(first) / USERS, SHARE - SLACK)
    tried.holds("the same users again", sum(again), again == first[::10])
