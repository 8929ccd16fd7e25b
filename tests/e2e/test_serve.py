"""The demo shop served by a real process, and called by a client generated from the protos."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc

from inferflow.demo import write_shop

from ..robustness.scenario import StartScenario
from .serving_process import Process, launch, start
from .wire_client import WireClient, column, document, generate


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("served") / "shop"
    write_shop(folder)
    return folder


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return generate(tmp_path_factory.mktemp("generated"))


@pytest.fixture(scope="module")
def server(shop: Path) -> Iterator[Process]:
    process = start(shop)
    yield process
    process.close()


@pytest.fixture(scope="module")
def client(server: Process, generated: Any) -> Iterator[WireClient]:
    client = WireClient(generated, f"127.0.0.1:{server.port}")
    yield client
    client.close()


@pytest.mark.parametrize("name", ["ranker", "ranker_guest", "ranker_diverse", "pairs", "page"])
def test_a_generated_client_gets_the_scores_of_the_golden_requests(
    client: WireClient, shop: Path, name: str
) -> None:
    golden = document(shop, name)
    answer = client.ask(client.request(golden))
    tables = [(answer.target_output_schema, answer.target_scores)]
    if "pairs" in golden:
        tables.append((answer.pair_output_schema, answer.pair_scores))
    if "slates" in golden:
        tables.append((answer.slate_output_schema, answer.slate_scores))
    for expected, values in golden["expect"].items():
        (table,) = [t for t in tables if expected in [each.name for each in t[0]]]
        assert column(*table, expected) == pytest.approx(values, abs=golden["tolerance"])
    assert answer.request_error == ""


def test_the_older_call_answers_the_same_in_text(client: WireClient, shop: Path) -> None:
    golden = document(shop, "ranker")
    answer = client.inferflow.RetrieveModelScore(client.legacy_request(golden), timeout=10)
    header, *rows = [list(line.data) for line in answer.component_data]
    at = header.index("blend:final_score")
    assert [float(row[at]) for row in rows] == pytest.approx(golden["expect"][header[at]], abs=1e-5)


def test_many_callers_at_once_each_get_their_own_answer(
    client: WireClient, shop: Path, scenario: StartScenario
) -> None:
    tried = scenario("K5", "16 callers of one connection, each with an order of its own")
    golden = document(shop, "ranker")
    ids, values = golden["entities"]["product"], golden["expect"]["blend:final_score"]

    def asked(turn: int) -> tuple[list[float], list[float]]:
        order = [(at + turn) % len(ids) for at in range(len(ids))]
        chosen = {**golden["entities"], "product": [ids[at] for at in order]}
        answer = client.ask(client.request({**golden, "entities": chosen}))
        got = column(answer.target_output_schema, answer.target_scores, "blend:final_score")
        return got, [values[at] for at in order]

    with ThreadPoolExecutor(16) as threads:
        answers = list(threads.map(asked, range(200)))
    wrong = [each for each in answers if each[0] != pytest.approx(each[1], abs=1e-5)]
    tried.none("answer is somebody else's", wrong, of=len(answers))


def test_refusals_have_their_status_and_the_connection_lives_on(
    client: WireClient, shop: Path
) -> None:
    good = client.request(document(shop, "ranker"))
    unknown = client.predict_pb2.PointWiseRequest(model_config_id="nobody", targets=good.targets)
    oversized = client.predict_pb2.PointWiseRequest(
        model_config_id="ranker", tracking_id="x" * 17 * 1024 * 1024
    )
    many = client.predict_pb2.PointWiseRequest()
    many.CopyFrom(good)
    many.targets.extend([good.targets[0]] * 100_000)
    for request, code in (
        (unknown, grpc.StatusCode.NOT_FOUND),
        (oversized, grpc.StatusCode.RESOURCE_EXHAUSTED),
        (many, grpc.StatusCode.INVALID_ARGUMENT),
    ):
        with pytest.raises(grpc.RpcError) as refused:
            client.ask(request)
        assert refused.value.code() is code
    garbage = client.channel.unary_unary("/Predict/InferPointWise")
    with pytest.raises(grpc.RpcError) as refused:
        garbage(b"\xff\xff", timeout=10)
    assert refused.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert len(client.ask(good).target_scores) == len(good.targets)


def test_large_requests_are_answered_while_small_ones_go_on(
    client: WireClient, shop: Path, scenario: StartScenario
) -> None:
    tried = scenario("I3", "four requests of 5000 rows before one of 12")
    good = document(shop, "ranker")
    large = {**good, "entities": {"user": "7", "product": [str(n) for n in range(1, 5001)]}}
    with ThreadPoolExecutor(4) as threads:
        answers = [threads.submit(client.ask, client.request(large)) for _ in range(4)]
        small = client.request(good)
        with tried.timed("the small one is answered", 1):
            assert len(client.ask(small).target_scores) == 12
        left = sum(not each.done() for each in answers)
        tried.at_least("large ones it overtook", left, 0)
        assert [len(each.result().target_scores) for each in answers] == [5000] * 4


def test_health_is_told_over_grpc_and_http(client: WireClient, server: Process) -> None:
    stub = health_pb2_grpc.HealthStub(client.channel)
    for service in ("", "Predict", "Inferflow"):
        answer = stub.Check(health_pb2.HealthCheckRequest(service=service), timeout=10)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
    for path in ("/health/self", "/health/live", "/health/ready"):
        assert server.get(path) == (200, b"true")
    assert server.get("/nothing")[0] == 404


def test_the_version_of_the_config_comes_with_the_answer(client: WireClient, shop: Path) -> None:
    call = client.predict.InferPointWise.with_call
    _, state = call(client.request(document(shop, "ranker")), timeout=10)
    assert len(dict(state.trailing_metadata())["x-inferflow-config-version"]) == 32


def test_no_call_is_lost_when_the_server_is_asked_to_end(
    shop: Path, generated: Any, scenario: StartScenario
) -> None:
    tried = scenario("A4", "a server asked to end under load, whose callers never try again")
    process = start(shop, INFERFLOW_DRAIN_PAUSE="10s")
    client = WireClient(generated, f"127.0.0.1:{process.port}")
    request = client.request(document(shop, "ranker"))
    enough = threading.Event()

    def keep_asking() -> int:
        count = 0
        while not enough.is_set():
            client.ask(request)
            count += 1
        return count

    with ThreadPoolExecutor(4) as threads:
        asking = [threads.submit(keep_asking) for _ in range(4)]
        process.popen.send_signal(signal.SIGTERM)
        while process.get("/health/ready")[0] == 200:
            client.ask(request)
        assert process.get("/health/ready") == (503, b"draining")
        assert process.get("/health/live") == (200, b"true")
        client.ask(request)
        enough.set()
        failed = [each.exception() for each in asking if each.exception()]
    tried.none("call fails", failed, of=sum(each.result() for each in asking))
    client.close()
    # Asked again, it does not wait for its pause to be over.
    with tried.timed("it ends, when asked again", 2):
        code = process.end()
    tried.holds("it ends with 0", code, code == 0)


@pytest.mark.parametrize("stop", [signal.SIGTERM, signal.SIGINT])
def test_the_process_ends_with_0_when_asked(shop: Path, stop: signal.Signals) -> None:
    assert start(shop).end(stop) == 0


@pytest.mark.parametrize("option", ["--port", "--http-port"])
def test_a_taken_port_is_a_clear_error(
    shop: Path, server: Process, option: str, scenario: StartScenario
) -> None:
    tried = scenario("I7", "a server is started on a port that is taken")
    other = {"--port": "--http-port", "--http-port": "--port"}[option]
    taken = str(server.port if option == "--port" else server.http.rpartition(":")[2])
    with tried.soon_over("it ends", 2):
        popen = launch(shop, option, taken, other, "0")
        out, err = popen.communicate(timeout=60)
    tried.holds("it ends with 1", popen.returncode, popen.returncode == 1)
    assert out == ""
    *logged, last = err.splitlines()
    assert last.startswith(f"error: cannot listen on 127.0.0.1:{taken}")
    assert "in use" in last
    assert all("Traceback" not in line for line in logged)


def test_a_setting_that_cannot_be_is_a_clear_error(shop: Path) -> None:
    popen = launch(shop, INFERFLOW_MAX_IN_FLIGHT="none")
    _, err = popen.communicate(timeout=60)
    assert popen.returncode == 1
    assert "MAX_IN_FLIGHT" in err.upper()
    assert err.count("\n") == 1


def test_listening_beyond_this_machine_must_be_meant(shop: Path, scenario: StartScenario) -> None:
    tried = scenario("G12", "a server is opened to the network, without keys")
    popen = launch(shop, "--bind", "0.0.0.0", "--port", "0", "--http-port", "0")
    _, err = popen.communicate(timeout=60)
    tried.holds("it ends with 1", popen.returncode, popen.returncode == 1)
    assert err.splitlines()[-1].startswith("error: bind: 0.0.0.0")
    assert "INFERFLOW_AUTH=off" in err
