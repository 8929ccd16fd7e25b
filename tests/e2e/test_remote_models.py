"""A served project whose models run in workers: real processes, real deaths."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Semaphore
from typing import Any

import numpy as np
import pytest

import inferflow
from inferflow.demo.shop import write_shop
from inferflow.plan.document import read_document

from ..robustness.scenario import StartScenario
from .fleet_process import until
from .role_process import MAIN, Process
from .serving_process import start

REQUESTS = ("ranker", "ranker_guest", "ranker_diverse", "pairs", "page")
StartWorker = Callable[[], Process]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("remote") / "shop"
    write_shop(root)
    return root


@pytest.fixture
def worker(shop: Path) -> Iterator[StartWorker]:
    """Starts workers with the shop's models."""
    started: list[Process] = []

    def launch() -> Process:
        popen = subprocess.Popen(
            [sys.executable, "-c", MAIN, "worker", str(shop), "--port", "0", "--http-port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "INFERFLOW_DRAIN_PAUSE": "0ms"},
        )
        assert popen.stdout is not None
        lines = [popen.stdout.readline() for _ in range(3)]
        found = re.match(r"gRPC  127\.0\.0\.1:(\d+)\nHTTP  (http://[^/]+)/", "".join(lines))
        if found is None:
            popen.kill()
            raise AssertionError((lines, popen.communicate()))
        started.append(Process(popen, int(found[1]), found[2]))
        return started[-1]

    yield launch
    for process in started:
        process.popen.send_signal(signal.SIGCONT)
        process.close()


def address(*workers: Process) -> str:
    return ",".join(f"127.0.0.1:{each.port}" for each in workers)


def request(shop: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = read_document(shop / "requests" / f"{name}.json")
    return found


def assert_same(ours: inferflow.Scores, theirs: inferflow.Scores) -> None:
    """To the last bit."""
    for mine, other in ((ours.targets, theirs.targets), (ours.groups, theirs.groups)):
        assert (mine is None) == (other is None)
        if mine is not None and other is not None:
            assert mine.errors == other.errors
            for name, column in mine.columns.items():
                np.testing.assert_array_equal(other.columns[name].values, column.values)


def test_models_in_a_worker_answer_bit_for_bit_as_those_of_this_process(
    shop: Path, worker: StartWorker
) -> None:
    endpoints = {"": address(worker())}
    with (
        inferflow.open(shop) as near,
        inferflow.open(shop, settings={"endpoints": endpoints}) as far,
    ):
        assert not [f for f in far.validate() if "could not be asked" in f.problem.what]
        for name in REQUESTS:
            assert_same(near.answer(request(shop, name)), far.answer(request(shop, name)))


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_served_project_with_models_in_a_worker_answers_the_same(
    shop: Path, worker: StartWorker, tmp_path: Path, processes: str
) -> None:
    far = tmp_path / "far"
    far.mkdir()
    for part in shop.iterdir():
        if part.name not in ("inferflow.toml", "models", ".inferflow"):
            (far / part.name).symlink_to(part)
    (far / "inferflow.toml").write_text(f'[endpoints]\n"" = "{address(worker())}"\n')
    served = start(far, "--processes", processes)
    try:
        with inferflow.open(shop) as near, inferflow.connect(f"127.0.0.1:{served.port}") as client:
            for name in ("ranker", "pairs", "page"):
                asked = {k: v for k, v in request(shop, name).items() if k != "expect"}
                assert_same(near.answer(asked), client.answer(asked))
    finally:
        served.close()


def test_a_worker_that_is_killed_costs_nobody_an_answer(
    shop: Path, worker: StartWorker, scenario: StartScenario
) -> None:
    tried = scenario("A1", "one of two workers of an orchestrator killed under 8 callers")
    first, second = worker(), worker()
    endpoints = {"": address(first, second)}
    asked = {**request(shop, "ranker"), "deadline_ms": 5_000}
    with inferflow.open(shop, settings={"endpoints": endpoints}) as flow:
        good = flow.answer(asked)
        answered = Semaphore(0)

        def ask() -> None:
            for _ in range(25):
                assert_same(good, flow.answer(asked))
                answered.release()

        with ThreadPoolExecutor(8) as threads:
            asking = [threads.submit(ask) for _ in range(8)]
            for _ in range(40):
                answered.acquire(timeout=30)
            first.popen.send_signal(signal.SIGKILL)
            failed = [each.exception() for each in asking if each.exception()]
        tried.none("answer is missing, marked or otherwise", failed, of=200)


def test_a_worker_that_hangs_is_left_at_the_deadline_and_named(
    shop: Path, worker: StartWorker, scenario: StartScenario
) -> None:
    tried = scenario("A13", "the only worker of an orchestrator hangs")
    only = worker()
    with inferflow.open(shop, settings={"endpoints": {"": address(only)}}) as flow:
        asked = {**request(shop, "ranker"), "deadline_ms": 10_000}
        flow.answer(asked)
        only.popen.send_signal(signal.SIGSTOP)
        with tried.timed("answered with marks, the step's timeout of 1 s being part of", 1.1):
            late = flow.answer(asked)
        said = f"at {address(only)} did not finish within 1000 ms"  # as the config says
        assert all(said in error for error in late.errors)
        only.popen.send_signal(signal.SIGCONT)
        until(lambda: not any(flow.answer(asked).errors))
