"""Several processes on one port: real ones, killed, restarted and asked to end."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pytest

import inferflow
from inferflow.app.scaffold import write_starter
from inferflow.errors import NotFound

from ..robustness.scenario import StartScenario
from .plain_wire import data
from .serving_process import Process, launch, start

CHANNELS = 16
BUSY = 8
BOOKS = {"user": "ada", "book": ["1", "2", "3"]}
PATIENCE_S = 60


def until(holds: Callable[[], Any]) -> Any:
    """What `holds` says as soon as it is anything; asks and asks meanwhile."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        found = holds()
        if found:
            return found
    raise AssertionError(f"not within {PATIENCE_S} s: {holds}")


class Server:
    """A running parent, and what it says of its children."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.address = f"127.0.0.1:{process.port}"

    def children(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = json.loads(self.process.get("/processes")[1])
        return found

    def ready(self) -> list[dict[str, Any]]:
        return [child for child in self.children() if child["state"] == "ready"]

    def pids(self) -> set[int]:
        return {child["pid"] for child in self.ready()}

    def metrics(self) -> dict[str, float]:
        return numbers(self.process.get("/metrics")[1])

    def total(self, name: str) -> float:
        return total(self.metrics(), name)


def numbers(page: bytes) -> dict[str, float]:
    lines = page.decode().splitlines()
    return {
        name: float(value)
        for name, value in (line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
    }


def total(page: dict[str, float], name: str) -> float:
    return sum(value for series, value in page.items() if series.partition("{")[0] == name)


class Callers:
    """Connections of their own, so that the kernel spreads them over the processes. No retries:
    what is lost shows."""

    def __init__(self, address: str) -> None:
        options = [("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0)]
        self.channels = [grpc.insecure_channel(address, options) for _ in range(CHANNELS)]
        self.body = _request()

    def ask(self, at: int) -> tuple[bytes, str]:
        """An answer and the version of the config that gave it."""
        call = self.channels[at % CHANNELS].unary_unary("/Inferflow/RetrieveModelScore")
        # A connection that was lost is waited for; the calls it had are not tried again.
        answer, state = call.with_call(self.body, timeout=10, wait_for_ready=True)
        return answer, dict(state.trailing_metadata())["x-inferflow-config-version"]

    def versions(self) -> set[str]:
        return {self.ask(at)[1] for at in range(CHANNELS)}

    def close(self) -> None:
        for channel in self.channels:
            channel.close()


def _request() -> bytes:

    def entity(name: str, *ids: str) -> bytes:
        return data(1, data(1, name) + b"".join(data(2, each) for each in ids))

    return entity("user", "ada") + entity("book", "1", "2", "3") + data(2, "ranker")


@contextmanager
def serving(root: Path, **environment: str) -> Iterator[Server]:
    process = start(root, "--processes", "2", **environment)
    try:
        yield Server(process)
    finally:
        process.close()


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_starter(tmp_path / "books")
    return tmp_path / "books"


@pytest.fixture
def server(root: Path) -> Iterator[Server]:
    with serving(root) as running:
        yield running


@pytest.fixture
def callers(server: Server) -> Iterator[Callers]:
    made = Callers(server.address)
    yield made
    made.close()


class Load:
    """Calls without end on half of the connections, and what became of them."""

    def __init__(self, callers: Callers) -> None:
        self._callers = callers
        self._enough = threading.Event()
        self.last_failure = 0.0
        self._threads = ThreadPoolExecutor(BUSY)
        self._asking = [self._threads.submit(self._ask, at) for at in range(BUSY)]

    def _ask(self, at: int) -> Counter[str]:
        seen: Counter[str] = Counter()
        while not self._enough.is_set():
            try:
                self._callers.ask(at)
                seen["OK"] += 1
            except grpc.RpcError as failed:
                seen[failed.code().name] += 1  # type: ignore[attr-defined]
                self.last_failure = time.monotonic()
        return seen

    def end(self) -> Counter[str]:
        self._enough.set()
        seen: Counter[str] = Counter()
        for each in self._asking:
            seen += each.result()
        self._threads.shutdown()
        return seen


def is_gone(pid: int) -> bool:
    try:
        # The state is the first word after the name, which is in brackets.
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return True
    return state == "Z"


def test_all_processes_answer_and_their_metrics_add_up_to_what_was_asked(
    server: Server, callers: Callers
) -> None:
    calls = 10 * CHANNELS
    with ThreadPoolExecutor(CHANNELS) as threads:
        answers = set(threads.map(callers.ask, range(calls)))
    assert len(answers) == 1
    asked = []
    for child in server.ready():
        with urllib.request.urlopen(f"http://127.0.0.1:{child['http']}/metrics") as own:
            asked.append(total(numbers(own.read()), "inferflow_requests_total"))
    assert len(asked) == 2
    assert min(asked) > 0
    assert sum(asked) == calls == server.total("inferflow_requests_total")
    page = server.metrics()
    assert total(page, "inferflow_request_duration_seconds_count") == calls
    assert page["inferflow_processes"] == page["inferflow_processes_ready"] == 2
    assert page['inferflow_plan_reloads_total{config="ranker"}'] == 1  # accepted once, for all
    assert server.process.get("/health/ready") == (200, b"2 of 2 processes ready")
    assert server.process.get("/health/live") == (200, b"true")


def test_one_that_is_killed_costs_the_calls_it_had_and_comes_back(
    server: Server, callers: Callers, scenario: StartScenario
) -> None:
    tried = scenario("A2", f"one of two processes killed under {BUSY} callers that never try again")
    load = Load(callers)
    victim, other = sorted(server.pids())
    until(lambda: server.total("inferflow_requests_total") > 100)
    killed = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    until(lambda: len(server.pids() - {victim}) == 2)
    seen = load.end()
    assert other in server.pids()
    assert set(seen) <= {"OK", "UNAVAILABLE"}
    assert seen["OK"] > 2 * BUSY
    # Each connection has one call under way, and may send another before it notices.
    tried.at_most("failed calls, twice those under way being", seen["UNAVAILABLE"], 2 * BUSY)
    tried.within("last failure after the kill", max(0, load.last_failure - killed), 0.5)
    assert server.metrics()["inferflow_process_restarts_total"] == 1
    assert len(callers.versions()) == 1


def test_one_that_is_asked_to_end_loses_no_call_and_none_of_its_counts(root: Path) -> None:
    with serving(root, INFERFLOW_DRAIN_PAUSE="500ms") as server:
        victim = min(server.pids())
        with inferflow.connect(server.address) as client:
            os.kill(victim, signal.SIGTERM)
            asked = 0
            while not is_gone(victim) or asked < 50:
                assert len(client.score("ranker", **BOOKS)) == 3
                asked += 1
        until(lambda: len(server.pids() - {victim}) == 2)
        assert server.total("inferflow_requests_total") == asked


def test_a_change_reaches_all_and_a_bad_one_none(
    server: Server, callers: Callers, root: Path
) -> None:
    (first,) = callers.versions()
    (root / "expressions.yaml").write_text('pick: "like * 2"\n')
    until(lambda: first not in callers.versions())
    (second,) = callers.versions()
    good = (root / "configs/ranker.yaml").read_text()
    (root / "configs/ranker.yaml").write_text("ranker: {half: written}\n")
    rejections = 'inferflow_plan_rejections_total{config="ranker"}'
    until(lambda: server.metrics().get(rejections))
    assert callers.versions() == {second}
    # One that starts now knows nothing but what was accepted, and serves the same.
    victim = min(server.pids())
    os.kill(victim, signal.SIGKILL)
    until(lambda: len(server.pids() - {victim}) == 2)
    assert callers.versions() == {second}
    (root / "configs/ranker.yaml").write_text(good + "# mended\n")
    until(lambda: server.metrics()['inferflow_plan_problems{config="ranker"}'] == 0)
    assert callers.versions() == {second}
    assert server.metrics()["inferflow_processes_behind"] == 0


def test_a_pushed_config_and_a_new_model_version_reach_all(
    server: Server, callers: Callers, root: Path, shell: Any
) -> None:
    (first,) = callers.versions()
    model = (root / "models/like_model/1/model.onnx").read_bytes()
    beside = root / "models/new"
    beside.mkdir()
    (beside / "model.onnx").write_bytes(model.replace(b"inferflow", b"somebody!"))
    beside.rename(root / "models/like_model/2")
    until(lambda: first not in callers.versions())
    pushed = root.parent / "pushed.yaml"
    pushed.write_text((root / "configs/ranker.yaml").read_text().replace("ranker:", "second:", 1))
    shell(f"inferflow config push {pushed} --dir {root}")

    def is_served_by_all() -> bool:
        return all(len(child["snapshot"]) == 12 for child in server.ready()) and all(
            _answers(f"127.0.0.1:{server.process.port}", "second") for _ in range(8)
        )

    until(is_served_by_all)


def _answers(address: str, config_id: str) -> bool:
    """Whether a connection of its own is answered."""
    with inferflow.connect(address) as client:
        try:
            return len(client.score(config_id, **BOOKS)) == 3
        except NotFound:
            return False


def test_a_recording_is_found_whichever_process_holds_it_and_whichever_is_asked(
    server: Server, callers: Callers
) -> None:
    held = []
    for channel in callers.channels:
        call = channel.unary_unary("/Inferflow/RetrieveModelScore")
        _, state = call.with_call(
            callers.body, timeout=10, metadata=(("x-inferflow-explain", "1"),)
        )
        held.append(dict(state.trailing_metadata())["x-inferflow-recording"])
    assert len({recording.partition("-")[0] for recording in held}) == 2  # both hold some
    for recording in (held[0], held[-1]):
        status, document = server.process.get(f"/recordings/{recording}")
        assert (status, json.loads(document)["recording"]) == (200, recording)
        for channel in callers.channels:
            call = channel.unary_unary("/inferflow.v1.Operate/GetRecording")
            assert recording.encode() in call(data(1, recording), timeout=10)
    listed = json.loads(server.process.get("/recordings")[1])
    assert set(held) <= {each["recording"] for each in listed}
    assert server.process.get("/recordings/00000000-1")[0] == 404
    (config,) = json.loads(server.process.get("/configs")[1])
    assert config["id"] == "ranker"
    configs = callers.channels[0].unary_unary("/inferflow.v1.Operate/ListConfigs")
    assert config["plan"].encode() in configs(b"", timeout=10)


def test_ending_under_load_loses_nothing(root: Path, scenario: StartScenario) -> None:
    tried = scenario("A4", "two processes asked to end under load, whose callers never try again")
    with serving(root, INFERFLOW_DRAIN_PAUSE="10s") as server:
        pids = server.pids()
        callers = Callers(server.address)
        load = Load(callers)
        until(lambda: server.total("inferflow_requests_total") > 100)
        server.process.popen.send_signal(signal.SIGTERM)
        until(lambda: server.process.get("/health/ready") == (503, b"draining"))
        before = server.total("inferflow_requests_total")
        until(lambda: server.total("inferflow_requests_total") > before)
        seen = load.end()
        tried.none("call fails", set(seen) - {"OK"}, of=sum(seen.values()))
        callers.close()
        # Asked again, nobody waits for the pause to be over.
        with tried.timed("they end, when asked again", 2):
            code = server.process.end()
        tried.holds("it ends with 0", code, code == 0)
        assert all(map(is_gone, pids))


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_with_0_when_asked(root: Path, stop: signal.Signals) -> None:
    with serving(root) as server:
        assert server.process.end(stop) == 0
    assert list((root / ".inferflow/processes").iterdir()) == []


def test_asked_to_end_while_its_processes_start_it_ends_with_0(root: Path) -> None:
    popen = launch(root, "--processes", "2", "--port", "0", "--http-port", "0")
    assert popen.stderr is not None
    until(lambda: "process_started" in popen.stderr.readline())
    popen.send_signal(signal.SIGTERM)
    out, err = popen.communicate(timeout=60)
    assert (popen.returncode, out) == (0, "")
    assert "Traceback" not in err


def test_children_do_not_outlive_their_parent(root: Path, scenario: StartScenario) -> None:
    tried = scenario("A14", "the parent of two processes killed")
    with serving(root) as server:
        pids = server.pids()
        server.process.popen.kill()
        with tried.timed("its children are gone", 2):
            until(lambda: all(map(is_gone, pids)))
        port = str(server.process.port)
    # The port is free again, and what was left behind is tidied up.
    again = start(root, "--processes", "2", "--port", port)
    assert again.port == int(port)
    assert len(list((root / ".inferflow/processes").iterdir())) == 1
    assert again.end() == 0


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_port_that_others_share_is_taken(server: Server, root: Path, processes: str) -> None:
    port = str(server.process.port)
    popen = launch(root, "--port", port, "--http-port", "0", "--processes", processes)
    out, err = popen.communicate(timeout=60)
    assert (popen.returncode, out) == (1, "")
    assert err.splitlines()[-1].startswith(f"error: cannot listen on 127.0.0.1:{port}")
    assert "Traceback" not in err


def test_features_in_memory_cannot_be_shared(root: Path) -> None:
    popen = launch(root, "--processes", "2", INFERFLOW_FEATURE_BACKEND="memory")
    _, err = popen.communicate(timeout=60)
    assert popen.returncode == 1
    assert "feature_backend" in err


def test_a_process_that_cannot_begin_ends_the_whole_with_its_reason(
    root: Path, tmp_path: Path
) -> None:
    """A log file that only the children cannot open."""
    (tmp_path / "serve.1.log").mkdir()
    popen = launch(
        root, "--processes", "2", "--port", "0", "--http-port", "0",
        INFERFLOW_LOG_FILE=str(tmp_path / "serve.log"),
    )  # fmt: skip
    _, err = popen.communicate(timeout=60)
    assert popen.returncode == 1
    assert "serve.1.log" in err
    assert "error: process 1 ended with 1 before it served" in err
    assert "Traceback" not in err
