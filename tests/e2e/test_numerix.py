"""A compute service as a real process, and projects whose expressions it computes."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import numpy as np
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

import inferflow
from inferflow.demo.shop import write_shop
from inferflow.plan.document import read_document

from ..servers.etcd import EtcdServer, fragile_etcd, put  # noqa: F401
from .numerix_process import computed, launch, scores, start
from .serving_process import Process
from .serving_process import start as start_serving

REQUESTS = ("ranker", "ranker_guest", "ranker_diverse", "pairs", "page")
Starting = Callable[..., Process]


@pytest.fixture
def starting() -> Iterator[Starting]:
    """Starts compute services, and ends them."""
    made: list[Process] = []

    def begin(folder: Path, *arguments: str, **more: Any) -> Process:
        made.append(start(folder, *arguments, **more))
        return made[-1]

    yield begin
    for process in made:
        process.popen.send_signal(signal.SIGCONT)
        process.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "expressions.yaml", 'sum: "a + b"\nratio: {postfix: "a b /"}\n')
    return tmp_path


def write(path: Path, text: str) -> None:
    """In one go, as tools do."""
    aside = path.with_name(f".{path.name}.new")
    aside.write_text(text)
    os.replace(aside, path)


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


# --- the service ----------------------------------------------------------------------------


def test_expressions_of_a_project_are_computed_for_whoever_asks(
    folder: Path, starting: Starting
) -> None:
    process = starting(folder)
    assert scores(computed(process, "sum", ["1", "2"], ["0.1", "0.2"])) == [
        "3.0",
        "0.30000000000000004",
    ]
    assert "division by zero" in computed(process, "ratio", ["1", "0"]).error.message
    assert "'sun'; did you mean 'sum'" in computed(process, "sun", ["1", "0"]).error.message


def test_health_reflection_and_metrics_are_there(folder: Path, starting: Starting) -> None:
    process = starting(folder)
    for path in ("/health/self", "/health/live", "/health/ready"):
        assert process.get(path) == (200, b"true")
    with grpc.insecure_channel(f"127.0.0.1:{process.port}") as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        for service in ("", "numerix.Numerix"):
            answer = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=10)
            assert answer.status == health_pb2.HealthCheckResponse.SERVING
        assert "numerix.Numerix" in ProtoReflectionDescriptorDatabase(channel).get_services()
    computed(process, "sum", ["1", "2"])
    computed(process, "ratio", ["1", "0"])
    shown = process.get("/metrics")[1].decode()
    told = (
        'inferflow_compute_requests_total{caller="unknown-caller",compute_id="%s",outcome="%s"} 1.0'
    )
    assert told % ("sum", "ok") in shown
    assert told % ("ratio", "error") in shown
    assert 'invalid_operations_total{compute_id="ratio",error_type="division_by_zero"} 1.0' in shown
    assert "inferflow_compute_expressions 2.0" in shown


def test_changed_expressions_are_taken_up_and_bad_ones_refused(
    folder: Path, starting: Starting
) -> None:
    process = starting(folder)
    write(folder / "expressions.yaml", 'sum: "a - b"\nratio: "a b / /"\nnew: "a * b"\n')
    eventually(lambda: computed(process, "new", ["3", "2"]).WhichOneof("response") != "error")
    assert scores(computed(process, "new", ["3", "2"])) == ["6.0"]
    assert scores(computed(process, "sum", ["3", "2"])) == ["1.0"]
    assert scores(computed(process, "ratio", ["3", "2"])) == ["1.5"], "the good one serves on"
    assert "inferflow_compute_expression_problems 1.0" in process.get("/metrics")[1].decode()
    write(folder / "expressions.yaml", 'sum: "a + b"\nratio: "a / b"\n')
    eventually(lambda: computed(process, "new", ["3", "2"]).WhichOneof("response") == "error")
    assert scores(computed(process, "sum", ["3", "2"])) == ["5.0"]


def test_a_folder_may_have_one_file_per_expression(tmp_path: Path, starting: Starting) -> None:
    book = tmp_path / "book"
    book.mkdir()
    (book / "1.json").write_text(json.dumps({"expression": "a b *"}))
    process = starting(tmp_path, "--expressions", str(book))
    assert scores(computed(process, "1", ["3", "2"])) == ["6.0"]
    write(book / "2.json", json.dumps({"expression": "a b -"}))
    eventually(lambda: computed(process, "2", ["3", "2"]).WhichOneof("response") != "error")
    (book / "1.json").unlink()
    eventually(lambda: computed(process, "1", ["3", "2"]).WhichOneof("response") == "error")


def test_it_ends_politely_when_asked_to(folder: Path, starting: Starting) -> None:
    process = starting(folder)
    computed(process, "sum", ["1", "2"])
    assert process.end() == 0


def test_without_expressions_it_says_how_to_name_them(tmp_path: Path) -> None:
    popen = launch(tmp_path)
    _, told = popen.communicate(timeout=60)
    assert popen.returncode == 1
    assert told.startswith("error: no ")
    assert "--expressions" in told


def test_expressions_in_etcd_are_followed_and_outlive_it(
    fragile_etcd: EtcdServer,  # noqa: F811
    tmp_path: Path,
    starting: Starting,
) -> None:
    server, prefix = fragile_etcd, b"/config/scorer/expression-config/"
    client = server.client()
    put(client, prefix + b"1", b'{"expression": "a b +"}')
    put(client, prefix + b"bad", b'{"expression": "a +"}')
    put(client, b"/config/other/expression-config/2", b'{"expression": "a"}')
    process = starting(tmp_path, ETCD_ENDPOINTS=server.endpoint, APP_NAME="scorer")
    assert scores(computed(process, "1", ["3", "2"])) == ["5.0"]
    assert "cannot be used" in computed(process, "bad", ["3", "2"]).error.message
    assert "no expression '2'" in computed(process, "2", ["3", "2"]).error.message
    put(client, prefix + b"1", b'{"expression": "a b"}')
    put(client, prefix + b"bad", b'{"expression": "a b >"}')
    eventually(lambda: computed(process, "bad", ["3", "2"]).WhichOneof("response") != "error")
    assert scores(computed(process, "1", ["3", "2"])) == ["5.0"], "the good one serves on"
    client.close()
    server.kill()
    assert scores(computed(process, "1", ["3", "2"])) == ["5.0"]
    server.start()
    client = server.client()
    put(client, prefix + b"1", b'{"expression": "a b -"}')
    client.close()
    eventually(lambda: scores(computed(process, "1", ["3", "2"])) == ["1.0"])
    assert process.end() == 0
    server.kill()
    again = starting(tmp_path, ETCD_ENDPOINTS=server.endpoint, APP_NAME="scorer")
    assert again.get("/health/ready") == (200, b"true")
    assert scores(computed(again, "1", ["3", "2"])) == ["1.0"]


def test_it_waits_for_an_etcd_that_is_not_there_yet(
    fragile_etcd: EtcdServer,  # noqa: F811
    tmp_path: Path,
    starting: Starting,
) -> None:
    client = fragile_etcd.client()
    put(client, b"/config/scorer/expression-config/1", b'{"expression": "a b +"}')
    client.close()
    fragile_etcd.kill()
    process = starting(tmp_path, ETCD_ENDPOINTS=fragile_etcd.endpoint, APP_NAME="scorer")
    assert process.get("/health/ready") == (503, b"there are no expressions")
    fragile_etcd.start()
    eventually(lambda: process.get("/health/ready") == (200, b"true"))
    assert scores(computed(process, "1", ["3", "2"])) == ["5.0"]


# --- projects that use it -------------------------------------------------------------------


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("numerix") / "shop"
    write_shop(root)
    return root


def request(shop: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = read_document(shop / "requests" / f"{name}.json")
    return {key: value for key, value in found.items() if key != "expect"}


def assert_same(ours: inferflow.Scores, theirs: inferflow.Scores) -> None:
    """To the last bit."""
    for mine, other in ((ours.targets, theirs.targets), (ours.groups, theirs.groups)):
        assert (mine is None) == (other is None)
        if mine is not None and other is not None:
            assert mine.errors == other.errors
            for name, column in mine.columns.items():
                np.testing.assert_array_equal(other.columns[name].values, column.values)


def address(process: Process) -> str:
    return f"127.0.0.1:{process.port}"


def test_a_service_computes_bit_for_bit_what_this_process_would(
    shop: Path, starting: Starting, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = starting(shop)
    with inferflow.open(shop) as near:
        monkeypatch.setenv("numerixClientV1_host", address(process))
        with inferflow.open(shop) as far:
            for name in REQUESTS:
                assert_same(near.answer(request(shop, name)), far.answer(request(shop, name)))
            told = str(far.explain("ranker", request(shop, "ranker")))
            assert address(process) in told, told
    shown = process.get("/metrics")[1].decode()
    for compute_id in ("shop_blend", "shop_diverse", "shop_page_revenue"):
        assert f'{{caller="inferflow",compute_id="{compute_id}",outcome="ok"}}' in shown


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_served_project_has_a_service_compute(
    shop: Path, starting: Starting, tmp_path: Path, processes: str
) -> None:
    process = starting(shop)
    served = start_serving(
        shop,
        "--processes",
        processes,
        numerixClientV1_host=address(process),
        INFERFLOW_DATA_DIR=str(tmp_path),
    )
    try:
        with inferflow.open(shop) as near, inferflow.connect(f"127.0.0.1:{served.port}") as client:
            for name in ("ranker", "pairs", "page"):
                assert_same(near.answer(request(shop, name)), client.answer(request(shop, name)))
    finally:
        served.close()


def test_a_service_that_is_gone_costs_its_own_column_and_comes_back(
    shop: Path, starting: Starting, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = starting(shop)
    monkeypatch.setenv("numerixClientV1_host", address(process))
    with inferflow.open(shop) as flow:
        asked = {**request(shop, "ranker"), "deadline_ms": 2_000}
        assert not any(flow.answer(asked).targets.errors)
        process.end(signal.SIGKILL)
        answer = flow.answer(asked).targets
        assert all("blend" in why and address(process) in why for why in answer.errors)
        assert np.isfinite(answer.columns["purchase_model:purchase"].values).all()
        again = starting(shop, port=process.port)
        assert again.port == process.port
        eventually(lambda: not any(flow.answer(asked).targets.errors))


def test_a_service_that_hangs_is_given_up_in_time(
    shop: Path, starting: Starting, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = starting(shop)
    monkeypatch.setenv("numerixClientV1_host", address(process))
    monkeypatch.setenv("numerixClientV1_deadline", "200ms")
    with inferflow.open(shop) as flow:
        asked = {**request(shop, "ranker"), "deadline_ms": 5_000}
        assert not any(flow.answer(asked).targets.errors)
        process.popen.send_signal(signal.SIGSTOP)
        errors = flow.answer(asked).targets.errors
        assert all("blend" in why and "200 ms" in why for why in errors), errors[0]


def test_expressions_that_only_the_service_has_are_computed_too(
    shop: Path, starting: Starting, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    process = starting(shop)
    monkeypatch.setenv("numerixClientV1_host", address(process))
    bare = tmp_path / "bare"
    bare.mkdir()
    for part in shop.iterdir():
        if part.name not in ("expressions.yaml", ".inferflow"):
            (bare / part.name).symlink_to(part)
    with inferflow.open(shop) as known, inferflow.open(bare) as unknown:
        notes = [each for each in unknown.validate() if "not known here" in each.problem.what]
        assert notes
        assert not any(each.problem.is_error for each in notes)
        for name in ("ranker", "ranker_diverse", "page"):
            asked = request(shop, name)
            assert_same(known.answer(asked), unknown.answer(asked))
