"""A real gateway before real servers: it answers as they do, and stands what comes from outside."""

from __future__ import annotations

import concurrent.futures
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from websockets.sync.client import connect as connect_socket

import inferflow
from inferflow.demo import write_shop
from inferflow.scores import Scores, Table

from ..robustness.scenario import StartScenario
from .gateway_process import GatewayProcess, start_gateway
from .serving_process import Process, start
from .wire_client import document
from .worker_process import WorkerProcess, echo, put, scale
from .worker_process import start as start_worker


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("behind") / "shop"
    write_shop(folder)
    return folder


@pytest.fixture(scope="module")
def server(shop: Path) -> Iterator[Process]:
    process = start(shop)
    yield process
    process.close()


@pytest.fixture(scope="module")
def worker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WorkerProcess]:
    folder = tmp_path_factory.mktemp("models")
    put(folder, "scale", scale(2))
    put(folder, "echo", echo())
    process = start_worker(folder)
    yield process
    process.close()


@pytest.fixture(scope="module")
def gateway(server: Process, worker: WorkerProcess, shop: Path) -> Iterator[GatewayProcess]:
    process = start_gateway(
        str(shop),
        "--target",
        f"127.0.0.1:{server.port}",
        "--models",
        f"127.0.0.1:{worker.port}",
        INFERFLOW_GATEWAY_HEADER_TIMEOUT="300ms",
        INFERFLOW_GATEWAY_BODY_TIMEOUT="300ms",
        INFERFLOW_GATEWAY_MAX_BODY_MB="1",
    )
    yield process
    process.close()


def told(rows: list[dict[str, Any]], table: Table) -> bool:
    """Whether JSON rows say what a table says, to the last bit."""
    for name, column in table.columns.items():
        values = [row["scores"][name] for row in rows]
        if column.dtype.is_text:
            assert values == column.to_list()
        else:
            np.testing.assert_array_equal(
                np.array(values, column.values.dtype), column.values, strict=True
            )
    return [row["error"] or "" for row in rows] == list(table.errors)


@pytest.mark.parametrize(
    ("name", "path"),
    [("ranker", ""), ("ranker_diverse", ""), ("pairs", "/pairs"), ("page", "/slates")],
)
def test_json_scores_are_the_scores_of_grpc(
    shop: Path, server: Process, gateway: GatewayProcess, name: str, path: str
) -> None:
    request = document(shop, name)
    request.pop("expect", None)
    config_id = request["model_config_id"]
    with inferflow.connect(f"127.0.0.1:{server.port}") as client:
        wanted: Scores = client.answer(request)
    answer = gateway.http.post(f"/v1/score/{config_id}{path}", json=request)
    assert answer.status_code == 200, answer.text
    found = answer.json()
    assert found["config_version"] == wanted.config_version
    if wanted.targets.columns:
        assert told(found["targets"], wanted.targets)
        ranked = sorted(range(len(wanted.ids)), key=lambda row: found["targets"][row]["rank"])
        assert ranked == wanted.ranked()
    if wanted.groups is not None:
        assert told(found[path[1:]], wanted.groups)


def test_a_stream_is_answered_in_order(shop: Path, gateway: GatewayProcess) -> None:
    request = document(shop, "ranker")
    config_id = request.pop("model_config_id")
    request.pop("expect", None)
    url = f"{gateway.url.replace('http', 'ws')}/v1/stream/{config_id}"
    with connect_socket(url) as stream:
        for number in range(20):
            stream.send(json.dumps({**request, "tracking_id": str(number)}))
        answers = [json.loads(stream.recv(30)) for _ in range(20)]
    assert [each["tracking_id"] for each in answers] == [str(number) for number in range(20)]
    assert all(each["targets"] for each in answers)


def test_models_answer_below_v2(gateway: GatewayProcess) -> None:
    assert gateway.http.get("/v2/health/ready").json() == {"ready": True}
    assert gateway.http.get("/v2/models/scale").json()["inputs"][0]["datatype"] == "FP32"
    tensor = {"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [1, 2]}
    answer = gateway.http.post("/v2/models/scale/infer", json={"inputs": [tensor]}).json()
    assert answer["outputs"][0]["data"] == [2.0, 4.0]
    wrong = {**tensor, "shape": [2]}
    refused = gateway.http.post("/v2/models/scale/infer", json={"inputs": [wrong]})
    assert refused.status_code == 400
    assert "takes the shape" in refused.json()["error"]


def test_what_the_orchestrator_refuses_is_refused_here(gateway: GatewayProcess) -> None:
    body = {"entities": {"user": "1", "product": ["1"]}}
    assert gateway.http.post("/v1/score/nobody", json=body).status_code == 404
    late = gateway.http.post("/v1/score/ranker?timeout=0.001", json=body)
    assert late.status_code == 504
    large = gateway.http.post("/v1/score/ranker", content=b" " * (1024 * 1024 + 1))
    assert large.status_code == 413


def half_sent(gateway: GatewayProcess, sent: bytes) -> bytes:
    """All that comes back until the connection is closed."""
    with socket.create_connection(gateway.address, timeout=20) as connection:
        connection.sendall(sent)
        found = b""
        while piece := connection.recv(4096):
            found += piece
            if b"\r\n\r\n" in found and b'"status"' in found:
                break
        return found


def test_requests_that_do_not_come_whole_are_not_waited_for(
    gateway: GatewayProcess, scenario: StartScenario
) -> None:
    tried = scenario("G13", "half of a request to a gateway")
    with tried.timed("half of the headers: closed", 3):
        said = half_sent(gateway, b"POST /v1/score/ranker HTTP/1.1\r\nhost: localhost\r\n")
    assert said in (
        b"",
        b"HTTP/1.1 408 Request Timeout\r\nconnection: close\r\ncontent-length: 0\r\n\r\n",
    )
    head = b"POST /v1/score/ranker HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{"
    with tried.timed("half of the body: closed", 3):
        assert half_sent(gateway, head).startswith(b"HTTP/1.1 408 ")


def test_its_numbers_are_by_route(gateway: GatewayProcess) -> None:
    gateway.http.post("/v1/score/ranker", json={})
    gateway.http.get("/nothing/here.js")
    text = gateway.http.get("/metrics").text
    assert 'inferflow_http_requests_total{method="POST",route="/v1/score/{config_id}"' in text
    assert 'route="other",status="404"' in text
    assert "here.js" not in text


def test_asked_to_end_it_lets_requests_finish(
    shop: Path, server: Process, scenario: StartScenario
) -> None:
    tried = scenario("A4", "a gateway asked to end under load")
    gateway = start_gateway(str(shop), "--target", f"127.0.0.1:{server.port}")
    request = document(shop, "ranker")
    path = f"/v1/score/{request['model_config_id']}"
    statuses: list[int] = []

    def ask() -> None:
        while True:
            try:
                statuses.append(gateway.http.post(path, json=request).status_code)
            except httpx.TransportError:  # it takes no more of them
                return

    with concurrent.futures.ThreadPoolExecutor(4) as asking:
        for _ in range(4):
            asking.submit(ask)
        while len(statuses) < 8:
            time.sleep(0.01)
        code = gateway.end()
    tried.holds("it ends with 0", code, code == 0)
    tried.none("answer is not 200", [each for each in statuses if each != 200], of=len(statuses))


@pytest.mark.scenario("G12")
def test_beyond_this_machine_it_wants_to_know_callers(shell: Any) -> None:
    refused = shell("inferflow gateway --port 0 --bind 0.0.0.0", code=1)
    assert "INFERFLOW_KEYS_FILE" in refused.stderr


def test_keys_of_a_file_open_it_and_wrong_ones_do_not(
    shop: Path, server: Process, shell: Any, tmp_path: Path
) -> None:
    keys = tmp_path / "keys.json"
    made = shell(f"inferflow keys create shop --may inference --file {keys} --json")
    text = json.loads(made.stdout)["secret"]
    gateway = start_gateway(
        str(shop), "--target", f"127.0.0.1:{server.port}", INFERFLOW_KEYS_FILE=str(keys)
    )
    try:
        request = document(shop, "ranker")
        path = f"/v1/score/{request['model_config_id']}"
        shown = {"authorization": f"Bearer {text}", "host": "flow.example"}
        assert gateway.http.post(path, json=request).status_code == 401
        assert gateway.http.post(path, json=request, headers=shown).status_code == 200
        assert gateway.http.post("/v2/repository/index", headers=shown).status_code == 403
        assert gateway.http.get("/api/v1/me", headers=shown).json()["name"] == "shop"
    finally:
        gateway.close()
