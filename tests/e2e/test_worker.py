"""A worker as a real process: models that come and go, requests that wait, hang, or are cut off."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from inferflow.serving.runtime import ModelRepository

from ..robustness.scenario import StartScenario
from .worker_process import (
    WorkerProcess,
    dense,
    launch,
    put,
    rounds,
    scale,
    start,
)

MIB = 1024 * 1024
AGES = 1e15
"""More rounds than anybody waits for."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("worker")
    put(made, "scale", scale(2))
    put(made, "scale", scale(3), version="2")
    put(made, "rounds", rounds())
    put(made, "broken", b"<html>")
    return made


@pytest.fixture(scope="module")
def worker(folder: Path) -> Iterator[WorkerProcess]:
    process = start(folder)
    yield process
    process.close()


@pytest.fixture
def starting(tmp_path: Path) -> Iterator[Callable[..., WorkerProcess]]:
    """Starts workers on the test's own folder, and ends them."""
    made: list[WorkerProcess] = []

    def begin(*arguments: str, **environment: str) -> WorkerProcess:
        made.append(start(tmp_path, *arguments, **environment))
        return made[-1]

    yield begin
    for process in made:
        process.close()


def test_the_highest_version_answers_unless_one_is_named(worker: WorkerProcess) -> None:
    assert worker.infer("scale", 1, 2) == [3, 6]
    assert worker.infer("scale", 1, 2, version="1") == [2, 4]
    assert worker.call("ModelMetadata", name="scale").versions == ["1", "2"]


def test_health_is_told_over_grpc_and_http(worker: WorkerProcess) -> None:
    stub = health_pb2_grpc.HealthStub(worker.channel)
    for service in ("", "inference.GRPCInferenceService"):
        answer = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=10)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
    for path in ("/health/self", "/health/live", "/health/ready"):
        assert worker.get(path) == (200, b"true")


def test_a_broken_model_is_unavailable_and_touches_no_other(worker: WorkerProcess) -> None:
    for _ in range(2):
        code, text = worker.refused("broken", 1)
        assert code == "UNAVAILABLE"
        assert "not ONNX" in text
    assert worker.infer("scale", 1) == [3]
    assert worker.metric("inferflow_worker_model_loads_total", model="broken") == 1
    assert worker.metric("inferflow_worker_model_available", model="broken") == 0
    states = {each.name: each.state for each in worker.call("RepositoryIndex").models}
    assert states == {"broken": "UNAVAILABLE", "rounds": "READY", "scale": "READY"}


def test_a_hung_run_is_stopped_at_its_deadline_while_others_go_on(worker: WorkerProcess) -> None:
    assert worker.infer("rounds", 5) == [10]
    with ThreadPoolExecutor(1) as threads:
        hung = threads.submit(worker.refused, "rounds", AGES, timeout=1)
        assert worker.infer("scale", 1) == [3]
        assert hung.result()[0] == "DEADLINE_EXCEEDED"
    assert worker.infer("rounds", 5) == [10]
    while worker.metric("inferflow_worker_requests_in_flight", model="rounds"):
        pass


def test_a_model_that_was_quick_and_hangs_does_not_hold_up_the_worker(
    worker: WorkerProcess, scenario: StartScenario
) -> None:
    tried = scenario("A13", "a model that was quick hangs in a worker")
    slowest = 0.0
    for _ in range(10):  # enough to be trusted with running on the event loop
        worker.infer("rounds", 1)
    with ThreadPoolExecutor(1) as threads:
        hung = threads.submit(worker.refused, "rounds", AGES, timeout=2)
        for number in range(20):
            began = time.monotonic()
            assert worker.infer("scale", number, timeout=1) == [3 * number]
            slowest = max(slowest, time.monotonic() - began)
        assert hung.result()[0] == "DEADLINE_EXCEEDED"
    tried.within("slowest answer of another model, its deadline being", slowest, 1)


def test_what_waits_is_batched_and_the_reasons_are_counted(
    tmp_path: Path, starting: Callable[..., WorkerProcess]
) -> None:
    put(tmp_path, "scale", scale(2))
    worker = starting(INFERFLOW_WORKER_MAX_BATCH="8", INFERFLOW_WORKER_MAX_DELAY="200ms")
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda n: worker.infer("scale", n), range(8)))
    assert answers == [[2 * n] for n in range(8)]
    runs = worker.metric("inferflow_worker_batch_rows_count", model="scale")
    assert worker.metric("inferflow_worker_batch_rows_sum", model="scale") == 8
    assert runs < 8
    reasons = [
        worker.metric("inferflow_worker_batches_total", model="scale", reason=reason)
        for reason in ("full", "delay", "alone")
    ]
    assert sum(reasons) == runs


def test_the_urgent_overtake_those_who_wait(
    tmp_path: Path, starting: Callable[..., WorkerProcess], scenario: StartScenario
) -> None:
    tried = scenario("I3", "an urgent request behind five patient ones")
    put(tmp_path, "rounds", rounds())
    worker = starting(INFERFLOW_WORKER_THREADS="1", INFERFLOW_WORKER_SHORT_RUN="0")
    order: list[int] = []

    def asked(priority: int) -> None:
        worker.infer("rounds", 1, priority=priority)
        order.append(priority)

    with ThreadPoolExecutor(10) as threads:
        holding = threads.submit(worker.refused, "rounds", AGES, timeout=3)
        while not worker.metric("inferflow_worker_requests_in_flight", model="rounds"):
            pass
        patient = [threads.submit(asked, 9) for _ in range(5)]
        while worker.metric("inferflow_worker_queue_depth", model="rounds") < 5:
            pass
        urgent = threads.submit(asked, 1)
        while worker.metric("inferflow_worker_queue_depth", model="rounds") < 6:
            pass
        assert holding.result()[0] == "DEADLINE_EXCEEDED"
        for each in (*patient, urgent):
            each.result()
    tried.at_most("patient ones answered before it", order.index(1), 0)


def test_a_queue_timeout_of_a_request_is_kept(
    tmp_path: Path, starting: Callable[..., WorkerProcess]
) -> None:
    put(tmp_path, "rounds", rounds())
    worker = starting(INFERFLOW_WORKER_THREADS="1", INFERFLOW_WORKER_SHORT_RUN="0")
    with ThreadPoolExecutor(1) as threads:
        holding = threads.submit(worker.refused, "rounds", AGES, timeout=2)
        while not worker.metric("inferflow_worker_requests_in_flight", model="rounds"):
            pass
        code, text = worker.refused("rounds", 1, timeout_us=1000)
        assert code == "DEADLINE_EXCEEDED"
        assert "waiting in the queue" in text
        holding.result()


def test_models_make_room_for_each_other_within_the_memory_budget(
    tmp_path: Path, starting: Callable[..., WorkerProcess], scenario: StartScenario
) -> None:
    tried = scenario("H7", "models of more memory than a worker's 48 MiB")
    for name in "abc":
        put(tmp_path, name, scale(2, ballast=8 * MIB))
    put(tmp_path, "huge", scale(2, ballast=64 * MIB))
    worker = starting("--memory-mb", "48")
    for name in "abcabc":
        assert worker.infer(name, 1) == [2]
        held = worker.metric("inferflow_worker_model_memory_bytes") / MIB
        tried.at_most("memory of loaded models", held, 48, " MiB")
    evicted = worker.metric("inferflow_worker_model_unloads_total", why="evicted")
    tried.at_least("idle models that made room", evicted, 1)
    code, text = worker.refused("huge", 1)
    tried.holds("one that can never fit is refused", code, code == "RESOURCE_EXHAUSTED")
    assert "huge@1" in text
    assert worker.infer("c", 1) == [2]


def test_an_idle_model_leaves_and_comes_back(
    tmp_path: Path, starting: Callable[..., WorkerProcess]
) -> None:
    put(tmp_path, "scale", scale(2))
    worker = starting(INFERFLOW_WORKER_IDLE_UNLOAD="100ms")
    assert worker.infer("scale", 1) == [2]
    while not worker.metric("inferflow_worker_model_unloads_total", why="idle"):
        pass
    assert worker.infer("scale", 1) == [2]
    assert worker.metric("inferflow_worker_model_loads_total", outcome="ok") == 2


def test_a_quantised_model_answers_nearly_the_same(
    tmp_path: Path, starting: Callable[..., WorkerProcess]
) -> None:
    put(tmp_path, "exact", dense())
    put(tmp_path, "rough", dense())
    (tmp_path / "inferflow.toml").write_text("[worker.models.rough]\nquantise = true\n")
    worker = starting("--prefetch", "rough")
    assert worker.metric("inferflow_worker_model_loads_total", model="rough") == 1
    exact, rough = worker.infer("exact", 1, 2, 3), worker.infer("rough", 1, 2, 3)
    assert exact != rough
    assert rough == pytest.approx(exact, rel=0.2)


def test_a_model_that_ended_the_process_again_and_again_is_left_alone(
    tmp_path: Path, starting: Callable[..., WorkerProcess], scenario: StartScenario
) -> None:
    tried = scenario("A8", "a model that took its worker down seven times")
    put(tmp_path, "fatal", scale(5))
    put(tmp_path, "scale", scale(2))
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    marks = tmp_path / ".inferflow" / "worker" / "loading"
    marks.mkdir(parents=True)
    left = {"crashes": 7, "at": time.time(), "pid": gone.pid}
    digest = ModelRepository(tmp_path / "models").find("fatal").digest
    (marks / digest).write_text(json.dumps(left))
    worker = starting("--prefetch", "fatal")
    code, text = worker.refused("fatal", 1)
    assert code == "UNAVAILABLE"
    assert "ended the worker 7 time" in text
    right = [worker.infer("scale", n) == [2 * n] for n in range(20)]
    tried.none("call of another model fails", [r for r in right if not r], of=len(right))
    available = worker.metric("inferflow_worker_model_available", model="fatal")
    tried.holds("its metric says it is not available", available, available == 0)


def test_no_call_is_lost_when_the_worker_is_asked_to_end(
    folder: Path, scenario: StartScenario
) -> None:
    tried = scenario("A4", "a worker asked to end under load, whose callers never try again")
    worker = start(folder, INFERFLOW_WORKER_DRAIN_PAUSE="10s")
    enough = threading.Event()

    def keep_asking() -> int:
        count = 0
        while not enough.is_set():
            assert worker.infer("scale", 1) == [3]
            count += 1
        return count

    try:
        with ThreadPoolExecutor(4) as threads:
            asking = [threads.submit(keep_asking) for _ in range(4)]
            worker.popen.send_signal(signal.SIGTERM)
            while worker.get("/health/ready")[0] == 200:
                worker.infer("scale", 1)
            assert worker.get("/health/ready") == (503, b"draining")
            assert not worker.call("ServerReady").ready
            worker.infer("scale", 1)
            enough.set()
            failed = [each.exception() for each in asking if each.exception()]
        tried.none("call fails", failed, of=sum(each.result() for each in asking))
    finally:
        enough.set()
        code = worker.end()
    tried.holds("it ends with 0", code, code == 0)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_the_process_ends_with_0_when_asked(folder: Path, stop: signal.Signals) -> None:
    assert start(folder).end(stop) == 0


def test_a_hung_run_does_not_keep_the_process_when_it_is_asked_twice(
    folder: Path, scenario: StartScenario
) -> None:
    tried = scenario("A5", "a worker with a run that never ends is asked twice")
    worker = start(folder)
    with ThreadPoolExecutor(1) as threads:
        hung = threads.submit(worker.refused, "rounds", AGES, timeout=60)
        while not worker.metric("inferflow_worker_requests_in_flight", model="rounds"):
            pass
        worker.popen.send_signal(signal.SIGTERM)
        while worker.get("/health/ready")[0] == 200:
            pass
        with tried.timed("it ends after the second", 2):
            code = worker.end()
        tried.holds("it ends with 0", code, code == 0)
        assert hung.result()[0] in ("UNAVAILABLE", "CANCELLED")


@pytest.mark.parametrize("option", ["--port", "--http-port"])
def test_a_taken_port_is_a_clear_error(
    folder: Path, worker: WorkerProcess, option: str, scenario: StartScenario
) -> None:
    tried = scenario("I7", "a worker is started on a port that is taken")
    other = {"--port": "--http-port", "--http-port": "--port"}[option]
    taken = str(worker.port if option == "--port" else worker.http.rpartition(":")[2])
    with tried.soon_over("it ends", 2):
        popen = launch(folder, option, taken, other, "0")
        out, err = popen.communicate(timeout=60)
    tried.holds("it ends with 1", popen.returncode, (popen.returncode, out) == (1, ""))
    assert err.splitlines()[-1].startswith(f"error: cannot listen on 127.0.0.1:{taken}")
    assert "Traceback" not in err


def test_listening_beyond_this_machine_must_be_meant(folder: Path, scenario: StartScenario) -> None:
    tried = scenario("G12", "a worker is opened to the network, without keys")
    popen = launch(folder, "--bind", "0.0.0.0", "--port", "0", "--http-port", "0")
    _, err = popen.communicate(timeout=60)
    tried.holds("it ends with 1", popen.returncode, popen.returncode == 1)
    assert err.splitlines()[-1].startswith("error: bind: 0.0.0.0")


def test_a_folder_that_is_not_there_is_a_clear_error(
    tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("I6", "the models folder of a worker is missing")
    with tried.soon_over("it ends", 2):
        popen = launch(tmp_path, "--port", "0", "--http-port", "0")
        _, err = popen.communicate(timeout=60)
    tried.holds("it ends with 1", popen.returncode, popen.returncode == 1)
    assert "no models folder" in err.splitlines()[-1]


def test_messages_larger_than_allowed_are_refused_and_the_connection_lives_on(
    worker: WorkerProcess, scenario: StartScenario
) -> None:
    tried = scenario("F2", "a message of 65 MiB to a worker")
    infer = worker.channel.unary_unary("/inference.GRPCInferenceService/ModelInfer")
    with pytest.raises(grpc.RpcError) as refused:
        infer(b"\0" * (65 * MIB), timeout=30)
    code = refused.value.code()
    tried.holds("refused", code.name, code is grpc.StatusCode.RESOURCE_EXHAUSTED)
    again = worker.infer("scale", 1)
    tried.holds("the connection lives on", again, again == [3])
