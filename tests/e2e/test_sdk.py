"""A fleet of real processes through its client: workers die, leave and come, and no call fails."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import inferflow
from inferflow.client.sdk.sync import FleetClient
from inferflow.errors import (
    InferflowError,
    InvalidRequest,
    ModelUnavailable,
    NotFound,
    PermissionDenied,
    Unauthenticated,
    Unreachable,
)

from .fleet_process import FleetRun, until
from .worker_process import rounds, scale

THREADS = 8


@pytest.fixture
def fleet(tmp_path: Path) -> Iterator[FleetRun]:
    run = FleetRun(tmp_path)
    try:
        run.add_manager()
        yield run
    finally:
        run.close()


@pytest.fixture
def client(fleet: FleetRun) -> Iterator[FleetClient]:
    with inferflow.connect_fleet(fleet.managers, key=fleet.caller_key) as opened:
        yield opened


def rows(*values: float) -> dict[str, np.ndarray]:
    return {"x": np.array([[value, value] for value in values], np.float32)}


def asked(client: FleetClient, model: str, value: float, **more: object) -> float:
    return float(client.infer(model, rows(value), **more)["y"][0, 0])  # type: ignore[arg-type]


class Load:
    """Threads that call without a pause, and every answer checked."""

    def __init__(self, client: FleetClient, model: str) -> None:
        self._client = client
        self._model = model
        self._ends = threading.Event()
        self._threads = ThreadPoolExecutor(THREADS)
        self.answers = 0
        self.failures: list[str] = []
        self._running = [self._threads.submit(self._call, n) for n in range(THREADS)]

    def _call(self, number: int) -> None:
        while not self._ends.is_set():
            try:
                answer = asked(self._client, self._model, number)
                assert answer == 2 * number
                self.answers += 1
            except (InferflowError, AssertionError) as failed:
                self.failures.append(repr(failed))

    def more(self, count: int) -> None:
        """Returns when so many more calls were answered, or one failed."""
        goal = self.answers + count
        until(lambda: self.answers >= goal or self.failures)

    def end(self) -> None:
        self._ends.set()
        for each in self._running:
            each.result()
        self._threads.shutdown()
        assert self.failures == []


@pytest.fixture
def under_load(fleet: FleetRun, client: FleetClient) -> Iterator[Callable[[str], Load]]:
    made: list[Load] = []

    def begin(model: str) -> Load:
        until(lambda: asked(client, model, 1) == 2)
        made.append(Load(client, model))
        return made[-1]

    yield begin
    for each in made:
        each._ends.set()


def test_a_worker_killed_under_load_fails_no_call(
    fleet: FleetRun, under_load: Callable[[str], Load]
) -> None:
    fleet.publish("doubler", scale(2))
    first, _ = fleet.add_worker("w1"), fleet.add_worker("w2")
    load = under_load("doubler")
    load.more(200)
    first.kill()
    load.more(500)
    fleet.add_worker("w3")
    load.more(200)
    load.end()


def test_workers_may_be_replaced_one_by_one_under_load(
    fleet: FleetRun, under_load: Callable[[str], Load]
) -> None:
    fleet.publish("doubler", scale(2))
    old = [fleet.add_worker(name) for name in ("w1", "w2")]
    load = under_load("doubler")
    for number, each in enumerate(old):
        fleet.add_worker(f"new{number}")
        load.more(100)
        assert each.end() == 0
        load.more(100)
    load.end()


def test_calls_go_on_while_the_manager_is_away_and_when_it_is_back(
    fleet: FleetRun, under_load: Callable[[str], Load]
) -> None:
    fleet.publish("doubler", scale(2))
    fleet.add_worker("w1")
    load = under_load("doubler")
    manager = fleet.roles[0]
    port = manager.port
    manager.kill()
    load.more(300)
    with (
        inferflow.connect_fleet(fleet.managers, key=fleet.caller_key) as late,
        pytest.raises(ModelUnavailable),
    ):
        asked(late, "doubler", 1)
    fleet.add_manager(port=port)
    load.more(100)
    load.end()
    with inferflow.connect_fleet(fleet.managers, key=fleet.caller_key) as late:
        until(lambda: fleet.worker_states().get("w1") == "online")
        assert asked(late, "doubler", 2) == 4


def test_the_only_worker_comes_back_and_so_do_answers(fleet: FleetRun, client: FleetClient) -> None:
    fleet.publish("doubler", scale(2))
    worker = fleet.add_worker("w1")
    assert asked(client, "doubler", 2) == 4
    worker.kill()
    with pytest.raises((Unreachable, ModelUnavailable)):  # said, not waited for
        asked(client, "doubler", 2)
    fleet.add_worker("w1", "--port", str(worker.port))

    def answers() -> bool:
        try:
            return asked(client, "doubler", 2) == 4
        except (Unreachable, ModelUnavailable):
            return False

    until(answers)


def test_a_new_version_answers_soon_after_it_is_promoted(
    fleet: FleetRun, client: FleetClient
) -> None:
    fleet.publish("model", scale(2))
    fleet.add_worker("w1")
    assert asked(client, "model", 1) == 2
    number = fleet.publish("model", scale(3), stage="staging")
    assert asked(client, "model", 1) == 2
    assert asked(client, "model", 1, stage="staging") == 3
    assert asked(client, "model", 1, version=number) == 3
    with fleet.admin() as admin:
        admin.promote("model", number, "production")
    until(lambda: asked(client, "model", 1) == 3)


def test_outputs_streams_and_mistakes(fleet: FleetRun, client: FleetClient) -> None:
    fleet.publish("doubler", scale(2))
    fleet.publish("rounds", rounds())
    fleet.add_worker("w1")
    answer = client.infer("doubler", rows(1, 2))
    assert sorted(answer) == ["y", "z"]
    assert list(client.infer("doubler", rows(1), outputs=["z"])) == ["z"]
    found = client.stream("rounds", (rows(n) for n in range(20)))
    assert [float(each["y"][0, 0]) for each in found] == [2.0 * n for n in range(20)]
    with pytest.raises(NotFound, match="did you mean 'doubler'"):
        asked(client, "doublr", 1)
    with pytest.raises(NotFound, match="doubler@9"):
        asked(client, "doubler", 1, version=9)
    with pytest.raises(InvalidRequest, match="x"):
        client.infer("doubler", {"x": np.zeros((1, 2))})  # FP64 where FP32 is wanted
    with pytest.raises(InvalidRequest, match="q"):
        client.infer("doubler", {"q": np.zeros((1, 2), np.float32)})


def test_keys_are_for_what_they_were_made_for(fleet: FleetRun) -> None:
    fleet.publish("doubler", scale(2))
    fleet.publish("secret", scale(2))
    fleet.add_worker("w1")
    narrow = fleet.key("narrow", "inference", models=["doub*"])
    with inferflow.connect_fleet(fleet.managers, key=narrow) as client:
        assert asked(client, "doubler", 1) == 2
        with pytest.raises(PermissionDenied, match="secret"):
            asked(client, "secret", 1)
        with fleet.admin() as admin:
            admin.revoke_key(narrow.split("_")[1])

        def is_refused() -> bool:
            try:
                asked(client, "doubler", 1)
            except Unauthenticated:
                return True
            return False

        until(is_refused)
    with inferflow.connect_fleet(fleet.managers) as stranger, pytest.raises(Unauthenticated):
        asked(stranger, "doubler", 1)
