"""The demo across processes gives what it gives in one, and its log says what was answered."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import inferflow
from inferflow.demo.shop import write_shop
from inferflow.plan.document import read_document

from ..servers.etcd import EtcdServer, etcd  # noqa: F401
from ..servers.kafka import KafkaServer, kafka  # noqa: F401
from ..servers.redis import RedisServer, redis_server  # noqa: F401
from .distributed_fleet import DistributedShop, Servers, log_everything
from .role_process import MAIN
from .same_scores import assert_same

REQUESTS = ("ranker", "ranker_guest", "ranker_diverse", "pairs", "page")

pytestmark = pytest.mark.timeout(300)  # a broker may have to be fetched first


@pytest.fixture(scope="module")
def far(
    etcd: EtcdServer,  # noqa: F811
    redis_server: RedisServer,  # noqa: F811
    kafka: KafkaServer,  # noqa: F811
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[DistributedShop]:
    home = tmp_path_factory.mktemp("distributed")
    write_shop(home / "shop")
    log_everything(home / "shop")
    made = DistributedShop(home / "shop", home, Servers(etcd, redis_server, kafka))
    yield made
    made.close()


def asking(shop: Path, name: str, tracking_id: str) -> Any:
    found = read_document(shop / "requests" / f"{name}.json")
    found.pop("expect", None)
    return {**found, "tracking_id": tracking_id}


def test_everything_elsewhere_scores_bit_for_bit_as_one_process_and_logs_what_it_answered(
    far: DistributedShop,
) -> None:
    answers: dict[str, inferflow.Scores] = {}
    with inferflow.open(far.shop) as near:
        for number, address in enumerate(far.addresses):
            with inferflow.connect(address) as client:
                for name in REQUESTS:
                    asked = asking(far.shop, name, f"{name}-{number}")
                    answers[asked["tracking_id"]] = client.answer(asked)
                    assert_same(near.answer(asked), answers[asked["tracking_id"]])
    for process in far.orchestrators:
        assert process.end() == 0  # which delivers what it has logged
    rows = logged_rows(far)
    assert {row["_tracking_id"] for row in rows} == set(answers)
    for tracking_id, scores in answers.items():
        mine = [row for row in rows if row["_tracking_id"] == tracking_id]
        assert_logged(mine, scores)
    models = {place for row in rows for place in row["_models"].values()}
    assert models == {f"127.0.0.1:{far.worker.port}@1"}
    assert 'entity="user_category"' in far.features.get("/metrics")[1].decode()
    assert 'compute_id="shop_blend",outcome="ok"' in far.compute.get("/metrics")[1].decode()


def logged_rows(far: DistributedShop) -> list[dict[str, Any]]:
    """What `inferflow logs` reads back, of both orchestrators."""
    where = ["--dir", str(far.folder("one"))]
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "logs", "tail", "-n", "100000", "--json", *where],
        env={**os.environ, **far.environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def assert_logged(rows: list[dict[str, Any]], scores: inferflow.Scores) -> None:
    """Every row was logged once, in order, and every logged column of the answer is equal."""
    by_kind = {kind: [row for row in rows if row["_rows"] == kind] for kind in _kinds(scores)}
    assert sum(map(len, by_kind.values())) == len(rows)
    assert [row["_id"] for row in by_kind["targets"]] == list(scores.ids)
    compared = 0
    for kind, table in _kinds(scores).items():
        for name, column in table.columns.items():
            if name in by_kind[kind][0]:
                assert [row[name] for row in by_kind[kind]] == column.to_list()
                compared += 1
    assert compared


def _kinds(scores: inferflow.Scores) -> dict[str, Any]:
    found: dict[str, Any] = {"targets": scores.targets}
    if scores.grouping is not None:
        found[scores.grouping] = scores.groups
    return found
