"""A feature store as a real process, on this machine's rows and on Redis, and projects that read
from it."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)

import inferflow
from inferflow.demo.shop import write_shop
from inferflow.errors import InvalidInput
from inferflow.plan.document import read_document

from ..servers.redis import (  # noqa: F401
    RedisServer,
    new_namespace,
    own_redis,
    redis_cluster,
    redis_server,
)
from .feature_store_process import launch, prices, set_price, start
from .same_scores import assert_same
from .serving_process import Process
from .serving_process import start as start_serving

REQUESTS = ("ranker", "ranker_guest", "ranker_diverse", "pairs", "page")
Starting = Callable[..., Process]


@pytest.fixture
def starting(tmp_path: Path) -> Iterator[Starting]:
    """Starts feature stores, and ends them."""
    made: list[Process] = []

    def begin(folder: Path, *arguments: str, **more: Any) -> Process:
        more.setdefault("INFERFLOW_DATA_DIR", str(tmp_path / "rows"))
        made.append(start(folder, *arguments, **more))
        return made[-1]

    yield begin
    for process in made:
        process.popen.send_signal(signal.SIGCONT)
        process.close()


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("features") / "shop"
    write_shop(root)
    return root


def on_redis(server: Any) -> dict[str, str]:
    return {
        "INFERFLOW_FEATURE_BACKEND": "redis",
        "REDIS_URL": server.url,
        "INFERFLOW_REDIS_NAMESPACE": f"{new_namespace()}-{os.getpid()}",
    }


def address(process: Process) -> str:
    return f"127.0.0.1:{process.port}"


def asking(shop: Path, name: str) -> Any:
    found = read_document(shop / "requests" / f"{name}.json")
    return {key: value for key, value in found.items() if key != "expect"}


def eventually(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def refused(call: Callable[[], object]) -> tuple[str, str]:
    with pytest.raises(grpc.RpcError) as failed:
        call()
    return failed.value.code().name, failed.value.details()


# --- the service ----------------------------------------------------------------------------


def test_what_is_written_is_read_and_counted(shop: Path, starting: Starting) -> None:
    process = starting(shop)
    before = prices(process, "1", "2", "no such product")
    assert before[2] == "30"
    assert set_price(process, "2", 12.5) == "1 row(s) written"
    assert prices(process, "2", "1", "2") == ["12.5", before[0], "12.5"]
    shown = process.get("/metrics")[1].decode()
    assert 'entity="product",group="attributes",state="missing"} 1.0' in shown
    assert 'method="PersistFeatures",outcome="ok"} 1.0' in shown
    assert process.get("/health/ready") == (200, b"true")


def test_health_and_reflection_are_there_and_a_drain_ends_well(
    shop: Path, starting: Starting
) -> None:
    process = starting(shop)
    with grpc.insecure_channel(address(process)) as channel:
        asking = health_pb2.HealthCheckRequest(service="retrieve.FeatureService")
        answer = health_pb2_grpc.HealthStub(channel).Check(asking, timeout=30)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        listed = ProtoReflectionDescriptorDatabase(channel).get_services()
    assert {"retrieve.FeatureService", "persist.FeatureService"} <= set(listed)
    assert process.end() == 0


def test_callers_of_a_file_have_their_rights_and_change_while_it_runs(
    shop: Path, starting: Starting, tmp_path: Path
) -> None:
    callers = tmp_path / "callers.toml"
    callers.write_text('[callers.reader]\ntoken = "one"\n')
    process = starting(shop, INFERFLOW_FEATURE_STORE_CALLERS_FILE=str(callers))
    name = ("online-feature-store-caller-id", "reader")
    one, two = (
        [name, ("online-feature-store-auth-token", "one")],
        [
            name,
            ("online-feature-store-auth-token", "two"),
        ],
    )
    assert refused(lambda: prices(process, "1"))[0] == "INVALID_ARGUMENT"
    assert refused(lambda: prices(process, "1", headers=two))[0] == "UNAUTHENTICATED"
    assert refused(lambda: set_price(process, "1", 1.0, one))[0] == "PERMISSION_DENIED"
    assert len(prices(process, "1", headers=one)) == 1
    fresh = callers.with_suffix(".new")
    fresh.write_text('[callers.reader]\ntoken = "two"\nrights = ["read", "write"]\n')
    fresh.replace(callers)

    def is_known() -> bool:
        try:
            return set_price(process, "1", 1.0, two) == "1 row(s) written"
        except grpc.RpcError:
            return False

    eventually(is_known)
    assert refused(lambda: prices(process, "1", headers=one))[0] == "UNAUTHENTICATED"


@pytest.mark.scenario("G12")
def test_beyond_this_machine_callers_have_to_be_known(shop: Path, tmp_path: Path) -> None:
    popen = launch(shop, "--bind", "0.0.0.0", INFERFLOW_DATA_DIR=str(tmp_path / "rows"))
    _, told = popen.communicate(timeout=60)
    assert popen.returncode == 1
    assert "INFERFLOW_AUTH=off" in told
    assert "Traceback" not in told


def test_a_schema_is_taken_up_while_it_serves(tmp_path: Path, starting: Starting) -> None:
    features = tmp_path / "shop" / "features"
    features.mkdir(parents=True)
    schema = "entities: {product: {keys: [product_id], groups: {attributes: {features: %s}}}}\n"
    (features / "schema.yaml").write_text(schema % "{weight: FP32}")
    process = starting(tmp_path / "shop")
    assert refused(lambda: prices(process, "1"))[0] == "NOT_FOUND"
    (features / "new").write_text(schema % "{weight: FP32, price: {dtype: FP32, default: 7}}")
    (features / "new").replace(features / "schema.yaml")

    def is_known() -> bool:
        try:
            return prices(process, "1") == ["7"]
        except grpc.RpcError:
            return False

    eventually(is_known)


# --- on Redis -------------------------------------------------------------------------------


def test_a_store_on_redis_says_when_it_is_away_and_comes_back(
    shop: Path,
    starting: Starting,
    own_redis: RedisServer,  # noqa: F811
) -> None:
    process = starting(shop, **on_redis(own_redis))
    (price,) = prices(process, "1")
    assert price != "30"
    own_redis.process.stop(signal.SIGKILL)
    code, told = refused(lambda: prices(process, "1"))
    assert code == "UNAVAILABLE"
    assert "is away" in told
    eventually(lambda: process.get("/health/ready")[0] == 503)
    own_redis.start()
    eventually(lambda: process.get("/health/ready")[0] == 200)
    assert prices(process, "1") == ["30"]
    assert set_price(process, "1", 8.0) == "1 row(s) written"
    assert prices(process, "1") == ["8"]


def test_without_redis_it_starts_not_ready_says_why_and_heals(
    shop: Path,
    starting: Starting,
    own_redis: RedisServer,  # noqa: F811
) -> None:
    own_redis.process.stop(signal.SIGKILL)
    process = starting(shop, ready="not ready", **on_redis(own_redis))
    status, told = process.get("/health/ready")
    assert status == 503
    assert f"Redis at 127.0.0.1:{own_redis.port} is away" in told.decode()
    code, said = refused(lambda: prices(process, "1"))
    assert code == "UNAVAILABLE"
    assert "is away" in said
    own_redis.start()
    eventually(lambda: process.get("/health/ready")[0] == 200)
    assert len(prices(process, "1", "2")) == 2


def test_a_redis_that_refuses_its_credentials_is_a_wrong_setting(
    shop: Path,
    redis_server: RedisServer,  # noqa: F811
    tmp_path: Path,
) -> None:
    popen = launch(
        shop,
        INFERFLOW_FEATURE_BACKEND="redis",
        REDIS_URL=f"redis://ann:secret@127.0.0.1:{redis_server.port}",
        INFERFLOW_DATA_DIR=str(tmp_path),
    )
    _, told = popen.communicate(timeout=60)
    assert popen.returncode == 1
    assert f"Redis at 127.0.0.1:{redis_server.port} refused these credentials" in told
    assert "secret" not in told
    assert "Traceback" not in told


# --- projects that read from it -------------------------------------------------------------


@pytest.mark.parametrize(
    "fixture",
    ["redis_server", pytest.param("redis_cluster", marks=pytest.mark.robustness)],
)
def test_a_project_scores_the_same_on_redis_itself(
    shop: Path,
    fixture: str,
    request: pytest.FixtureRequest,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    with inferflow.open(shop) as near:
        monkeypatch.setenv("INFERFLOW_DATA_DIR", str(tmp_path))
        for name, value in on_redis(request.getfixturevalue(fixture)).items():
            monkeypatch.setenv(name, value)
        for _ in range(2):  # the second time nothing is loaded again
            with inferflow.open(shop) as far:
                assert not (tmp_path / "features").exists()
                for name in REQUESTS:
                    asked = asking(shop, name)
                    assert_same(near.answer(asked), far.answer(asked))


def test_a_service_on_redis_gives_bit_for_bit_what_this_process_would(
    shop: Path,
    starting: Starting,
    redis_server: RedisServer,  # noqa: F811
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process = starting(shop, **on_redis(redis_server))
    with inferflow.open(shop) as near:
        monkeypatch.setenv("externalServiceOnFs_host", address(process))
        with inferflow.open(shop) as far:
            for name in REQUESTS:
                assert_same(near.answer(asking(shop, name)), far.answer(asking(shop, name)))
            with pytest.raises(InvalidInput, match=address(process)):
                _ = far.features
    shown = process.get("/metrics")[1].decode()
    assert 'entity="user_category"' in shown


@pytest.mark.parametrize("processes", ["1", "2"])
def test_a_served_project_reads_from_a_service_and_answers_without_it(
    shop: Path, starting: Starting, tmp_path: Path, processes: str
) -> None:
    process = starting(shop)
    served = start_serving(
        shop,
        "--processes",
        processes,
        EXTERNAL_SERVICE_ONFS_FS_HOST="127.0.0.1",
        EXTERNAL_SERVICE_ONFS_FS_PORT=str(process.port),
        EXTERNAL_SERVICE_ONFS_FS_BATCH_SIZE="7",
        INFERFLOW_DATA_DIR=str(tmp_path / "serving"),
    )
    try:
        asked = asking(shop, "ranker")
        with inferflow.open(shop) as near, inferflow.connect(address(served)) as client:
            assert_same(near.answer(asked), client.answer(asked))
            process.end(signal.SIGKILL)
            found = client.answer(asked)
            assert len(found.ids) == len(near.answer(asked).ids)
            assert any(found.targets.errors)
            again = starting(shop, port=process.port)
            eventually(lambda: not any(client.answer(asked).targets.errors))
            assert_same(near.answer(asked), client.answer(asked))
            assert again.end() == 0
    finally:
        served.close()
