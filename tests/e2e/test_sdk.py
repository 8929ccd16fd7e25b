"""A fleet of real processes through its client: workers die, leave and come, and no call fails."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import inferflow
from inferflow.client.sdk.sync import FleetClient
from inferflow.errors import (
    DeadlinePassed,
    InferflowError,
    InvalidRequest,
    ModelUnavailable,
    NotFound,
    PermissionDenied,
    Unauthenticated,
    Unreachable,
)

from ..robustness.scenario import StartScenario
from ..servers.postgres import PostgresServer, postgres  # noqa: F401  # a fixture
from .fleet_process import FleetRun, until
from .worker_process import rounds, scale

THREADS = 8
PATIENT_MS = 30_000.0
"""For calls of which it does not matter how long they take on a busy machine."""


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
    with inferflow.connect_fleet(
        fleet.managers, key=fleet.caller_key, deadline_ms=PATIENT_MS
    ) as opened:
        yield opened


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetRun]:
    """A fleet that nothing happens to."""
    run = FleetRun(tmp_path_factory.mktemp("calm"))
    try:
        run.add_manager()
        run.add_worker("w1")
        run.publish("doubler", scale(2))
        yield run
    finally:
        run.close()


@pytest.fixture
def calm_client(calm: FleetRun) -> Iterator[FleetClient]:
    with inferflow.connect_fleet(
        calm.managers, key=calm.caller_key, deadline_ms=PATIENT_MS
    ) as opened:
        yield opened


def rows(*values: float) -> dict[str, np.ndarray]:
    return {"x": np.array([[value, value] for value in values], np.float32)}


def asked(client: FleetClient, model: str, value: float, **more: object) -> float:
    return float(client.infer(model, rows(value), **more)["y"][0, 0])  # type: ignore[arg-type]


class Load:
    """Threads that call without a pause, and every answer checked."""

    def __init__(self, client: FleetClient, model: str, deadline_ms: float) -> None:
        self._client = client
        self._model = model
        self._deadline_ms = deadline_ms
        self._ends = threading.Event()
        self._threads = ThreadPoolExecutor(THREADS)
        self.answers = 0
        self.failures: list[str] = []
        self.took_s: list[float] = []
        """Of every answer since this was last emptied."""
        self._running = [self._threads.submit(self._call, n) for n in range(THREADS)]

    def _call(self, number: int) -> None:
        while not self._ends.is_set():
            began = time.monotonic()
            try:
                answer = asked(self._client, self._model, number, deadline_ms=self._deadline_ms)
                assert answer == 2 * number
                self.answers += 1
                self.took_s.append(time.monotonic() - began)
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

    def p99_s(self) -> float:
        return sorted(self.took_s)[int(0.99 * len(self.took_s))]


@pytest.fixture
def under_load(fleet: FleetRun, client: FleetClient) -> Iterator[Callable[..., Load]]:
    made: list[Load] = []

    def begin(model: str, deadline_ms: float = PATIENT_MS) -> Load:
        until(lambda: asked(client, model, 1) == 2)
        made.append(Load(client, model, deadline_ms))
        return made[-1]

    yield begin
    for each in made:
        each._ends.set()


def test_a_worker_killed_under_load_fails_no_call(
    fleet: FleetRun, under_load: Callable[..., Load], scenario: StartScenario
) -> None:
    tried = scenario("A1", "one of two workers of a fleet killed under load")
    fleet.publish("doubler", scale(2))
    first, _ = fleet.add_worker("w1"), fleet.add_worker("w2")
    load = under_load("doubler", deadline_ms=1_000)
    load.more(1_000)
    before_s = load.p99_s()
    load.took_s.clear()
    first.kill()
    load.more(1_000)
    after_s, slowest_s = load.p99_s(), max(load.took_s)
    fleet.add_worker("w3")
    load.more(200)
    load.end()
    tried.none("call fails", load.failures, of=load.answers)
    tried.within("slowest answer after the kill, the deadline being", slowest_s, 1)
    tried.within("p99 after the kill, thrice that before being", after_s, 3 * before_s)


@pytest.mark.robustness
def test_workers_may_be_replaced_one_by_one_under_load(
    fleet: FleetRun, under_load: Callable[..., Load], scenario: StartScenario
) -> None:
    tried = scenario("A11", "all workers of a fleet replaced under load, one after another")
    fleet.publish("doubler", scale(2))
    old = [fleet.add_worker(name) for name in ("w1", "w2")]
    load = under_load("doubler")
    for number, each in enumerate(old):
        fleet.add_worker(f"new{number}")
        load.more(100)
        assert each.end() == 0
        load.more(100)
    load.end()
    tried.none("call fails", load.failures, of=load.answers)


@pytest.mark.robustness
def test_calls_go_on_while_the_manager_is_away_and_when_it_is_back(
    fleet: FleetRun, under_load: Callable[..., Load], scenario: StartScenario
) -> None:
    tried = scenario("A6", "the manager killed while a client has sessions")
    fleet.publish("doubler", scale(2))
    fleet.add_worker("w1")
    load = under_load("doubler")
    manager = fleet.roles[0]
    port = manager.port
    manager.kill()
    load.more(300)
    with (
        inferflow.connect_fleet(
            fleet.managers, key=fleet.caller_key, deadline_ms=PATIENT_MS
        ) as late,
        pytest.raises(ModelUnavailable),
    ):
        asked(late, "doubler", 1)
    fleet.add_manager(port=port)
    load.more(100)
    load.end()
    tried.none("call fails", load.failures, of=load.answers)
    with inferflow.connect_fleet(
        fleet.managers, key=fleet.caller_key, deadline_ms=PATIENT_MS
    ) as late:
        until(lambda: fleet.worker_states().get("w1") == "online")

        def answers() -> bool:
            # Channels of one process share what they know of an address, for two seconds at most.
            try:
                return asked(late, "doubler", 2) == 4
            except ModelUnavailable:
                return False

        until(answers, within_s=5)


def test_the_only_worker_comes_back_and_so_do_answers(
    fleet: FleetRun, client: FleetClient, scenario: StartScenario
) -> None:
    tried = scenario("A3", "the only worker of a fleet killed and started again")
    fleet.publish("doubler", scale(2))
    worker = fleet.add_worker("w1")
    assert asked(client, "doubler", 2) == 4
    worker.kill()
    told_s: list[float] = []
    for _ in range(20):
        began = time.monotonic()
        with pytest.raises((Unreachable, ModelUnavailable)):  # said, not waited for
            asked(client, "doubler", 2)
        told_s.append(time.monotonic() - began)
    fleet.add_worker("w1", "--port", str(worker.port))
    ready = time.monotonic()

    def answers() -> bool:
        try:
            return asked(client, "doubler", 2) == 4
        except (Unreachable, ModelUnavailable):
            return False

    until(answers)
    tried.within("median time to be told", sorted(told_s)[10], 0.05)
    tried.within("slowest to be told", max(told_s), 1)
    tried.within("first answer after it is ready", time.monotonic() - ready, 3)


@pytest.mark.robustness
def test_a_hung_worker_is_left_alone_after_a_few_calls(
    fleet: FleetRun, client: FleetClient, scenario: StartScenario
) -> None:
    tried = scenario("A13", "one of two workers of a fleet hangs")
    fleet.publish("doubler", scale(2))
    workers = [fleet.add_worker(name) for name in ("w1", "w2")]
    until(lambda: asked(client, "doubler", 1) == 2)
    first = fleet.discover("doubler").workers[0].address
    hung = next(each for each in workers if each.address == first)
    hung.popen.send_signal(signal.SIGSTOP)
    late = 0
    in_a_row = 0
    while in_a_row < 50:
        try:
            assert asked(client, "doubler", 2, deadline_ms=300) == 4
            in_a_row += 1
        except DeadlinePassed:
            late, in_a_row = late + 1, 0
        assert late < 10
    tried.at_most("calls that wait for it until their deadline", late, 9)
    hung.popen.send_signal(signal.SIGCONT)
    until(lambda: fleet.worker_states()[_id(fleet, hung.address)] == "online")
    assert asked(client, "doubler", 2) == 4


def _id(fleet: FleetRun, address: str) -> str:
    with fleet.admin() as admin:
        return next(str(w["worker_id"]) for w in admin.workers() if w["address"] == address)


def test_one_of_two_managers_is_enough(
    tmp_path: Path,
    postgres: PostgresServer,  # noqa: F811
    scenario: StartScenario,
) -> None:
    tried = scenario("A12", "one of two managers killed")
    run = FleetRun(
        tmp_path,
        {
            "INFERFLOW_MANAGER_DATABASE": postgres.new_database(),
            "INFERFLOW_MANAGER_SECRET": "5e" * 32,
        },
    )
    try:
        one, _ = run.add_manager(), run.add_manager()
        run.add_worker("w1")
        run.publish("doubler", scale(2))
        with inferflow.connect_fleet(
            run.managers, key=run.caller_key, deadline_ms=PATIENT_MS
        ) as client:
            assert asked(client, "doubler", 1) == 2
            one.kill()
            kept = asked(client, "doubler", 1)
            until(lambda: asked(client, "doubler", 1, version=1) == 2)  # a session of its own
        with inferflow.connect_fleet(
            run.managers, key=run.caller_key, deadline_ms=PATIENT_MS
        ) as newcomer:
            found = asked(newcomer, "doubler", 1)
        tried.holds("old and new clients are answered", (kept, found), kept == found == 2)
    finally:
        run.close()


def test_a_new_version_answers_soon_after_it_is_promoted(
    calm: FleetRun, calm_client: FleetClient
) -> None:
    client = calm_client
    calm.publish("model", scale(2))
    assert asked(client, "model", 1) == 2
    number = calm.publish("model", scale(3), stage="staging")
    assert asked(client, "model", 1) == 2
    assert asked(client, "model", 1, stage="staging") == 3
    assert asked(client, "model", 1, version=number) == 3
    with calm.admin() as admin:
        admin.promote("model", number, "production")
    until(lambda: asked(client, "model", 1) == 3)


def test_outputs_streams_and_mistakes(calm: FleetRun, calm_client: FleetClient) -> None:
    client = calm_client
    calm.publish("rounds", rounds())
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


def test_keys_are_for_what_they_were_made_for(calm: FleetRun) -> None:
    fleet = calm
    fleet.publish("secret", scale(2))
    narrow = fleet.key("narrow", "inference", models=["doub*"])
    with inferflow.connect_fleet(fleet.managers, key=narrow, deadline_ms=PATIENT_MS) as client:
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
