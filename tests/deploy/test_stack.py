"""Every entry of the deployment files is run as it is written there, becomes ready, and the whole
scores a request. What is shown on dashboards is then really there to be read."""

from __future__ import annotations

import json
import re
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import inferflow
from inferflow.app.scaffold import write_starter

from ..servers.etcd import EtcdServer, etcd  # noqa: F401
from ..servers.postgres import PostgresServer, postgres  # noqa: F401
from ..servers.processes import free_port
from ..servers.redis import RedisServer, own_redis  # noqa: F401
from .files import Entry, chart_entries, compose_entries, rendered
from .promql import family, named
from .stack import Stack
from .test_compose import SECRETS
from .test_observability import RECORDED, expressions

LISTENING = {
    "orchestrator": ("APP_PORT", "INFERFLOW_HTTP_PORT"),
    "gateway": ("INFERFLOW_GATEWAY_PORT",),
    "feature-store": ("INFERFLOW_FEATURE_STORE_PORT", "INFERFLOW_FEATURE_STORE_HTTP_PORT"),
    "numerix": ("INFERFLOW_COMPUTE_PORT", "INFERFLOW_COMPUTE_HTTP_PORT"),
    "manager": ("INFERFLOW_MANAGER_PORT", "INFERFLOW_MANAGER_HTTP_PORT"),
    "worker-1": ("INFERFLOW_WORKER_PORT", "INFERFLOW_WORKER_HTTP_PORT"),
    "worker-2": ("INFERFLOW_WORKER_PORT", "INFERFLOW_WORKER_HTTP_PORT"),
}
"""Variables of a role's ports, the one for health and metrics last."""
ADMIN_KEY = "ifk_00000000ad01_" + "A" * 43
REQUEST = {"entities": {"user": "ada", "book": ["1", "2", "3"]}}


@pytest.fixture
def values(etcd: EtcdServer) -> dict[str, str]:  # noqa: F811
    return {
        **SECRETS,
        "INFERFLOW_MANAGER_SECRET": "5e" * 32,
        "INFERFLOW_ADMIN_KEY": ADMIN_KEY,
        "APP_NAME": etcd.new_app(),
    }


@pytest.fixture
def stack(
    values: dict[str, str],
    etcd: EtcdServer,  # noqa: F811
    own_redis: RedisServer,  # noqa: F811
    postgres: PostgresServer,  # noqa: F811
    tmp_path: Path,
) -> Iterator[Stack]:
    database = postgres.new_database()
    there = {
        "etcd:2379": etcd.endpoint,
        f"redis://:{values['REDIS_PASSWORD']}@redis:6379/0": own_redis.url,
        f"postgresql://inferflow:{values['POSTGRES_PASSWORD']}@postgres:5432/inferflow": database,
        "kafka:9092": f"127.0.0.1:{free_port()}",
    }
    made = Stack(tmp_path, there)
    for name, variables in LISTENING.items():
        environment = compose_entries(values)[name].environment
        made.place(name, {variable: environment[variable] for variable in variables})
    yield made
    made.kill()
    postgres.drop_database(database)


def test_every_entry_of_the_stack_runs_and_the_whole_scores(
    stack: Stack, values: dict[str, str], tmp_path: Path
) -> None:
    entries = compose_entries(values)
    stack.start("manager", entries["manager"])
    stack.wait_until_ready("manager", LISTENING["manager"][-1])
    values["INFERFLOW_WORKER_KEY"] = new_key(stack, entries["keys"], "worker", "inference")
    calling = new_key(stack, entries["keys"], "inference", "view")

    entries = compose_entries(values)
    others = [name for name in LISTENING if name != "manager"]
    for name in others:
        stack.start(
            name, watching_drift(entries[name]) if name == "orchestrator" else entries[name]
        )
    for name in ("worker-1", "worker-2"):
        stack.wait_until_ready(name, LISTENING[name][-1])

    write_starter(tmp_path / "project")  # nothing to serve until it is pushed
    push = entries["push"].command[1:]
    said = stack.run(
        "push",
        entries["push"],
        *(str(tmp_path / each.lstrip("/")) if each.startswith("/") else each for each in push),
    )
    assert "ranker" in said
    for name in others:
        stack.wait_until_ready(name, LISTENING[name][-1])

    expected = expected_scores(tmp_path / "project")
    assert scores_over_grpc(stack, calling) == pytest.approx(expected, abs=1e-5)
    assert scores_over_http(stack, calling) == pytest.approx(expected, abs=1e-5)
    check_metrics(stack)
    assert set(stack.end().values()) == {0}


def watching_drift(entry: Entry) -> Entry:
    """So that its metrics are there to be read."""
    return replace(entry, environment={**entry.environment, "INFERFLOW_DRIFT_SAMPLE": "1"})


def new_key(stack: Stack, entry: Entry, *permissions: str) -> str:
    options = [option for permission in permissions for option in ("--may", permission)]
    said = stack.run("keys", entry, "keys", "create", permissions[0], *options)
    return said.strip()


def expected_scores(project: Path) -> list[float]:
    with inferflow.open(project, settings={"feature_backend": "memory"}) as flow:
        return [
            float(each)
            for each in flow.answer({"model_config_id": "ranker", **REQUEST})["pick:score"]
        ]


def scores_over_grpc(stack: Stack, key: str) -> list[float]:
    with inferflow.connect(stack.address("orchestrator", "APP_PORT"), key=key) as client:
        found = client.answer({"model_config_id": "ranker", **REQUEST})
    assert not any(found.errors)
    return [float(each) for each in found["pick:score"]]


def scores_over_http(stack: Stack, key: str) -> list[float]:
    request = urllib.request.Request(
        f"http://{stack.address('gateway', 'INFERFLOW_GATEWAY_PORT')}/v1/score/ranker",
        data=json.dumps(REQUEST).encode(),
        headers={"authorization": f"Bearer {key}", "content-type": "application/json"},
    )
    with urllib.request.urlopen(request, timeout=30) as answer:
        found = json.load(answer)
    return [target["scores"]["pick:score"] for target in found["targets"]]


def check_metrics(stack: Stack) -> None:
    """Whatever dashboards and alerts ask for is on some page, with the labels it is asked by."""
    text = "".join(stack.metrics(name, ports[-1]) for name, ports in LISTENING.items())
    families = set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE))
    labels: dict[str, set[str]] = {}
    for name, inside in re.findall(r"^(\w+)\{([^}]*)\}", text, re.MULTILINE):
        labels.setdefault(family(name), set()).update(re.findall(r"(\w+)=", inside))
    # Shown with several processes or a GPU only, or once there is something to count.
    rare = re.compile(
        r"inferflow_(process|fleet_device|worker_device|log_|plan_rejections|experiment|config_)"
    )
    for expression in expressions():
        for each in named(expression):
            metric = family(each.metric)
            if metric in RECORDED or each.metric in RECORDED or metric == "up":
                continue
            assert {metric, each.metric} & families or rare.match(metric), each.metric
            if metric in labels:
                assert each.labels <= labels[metric] | {"job", "instance"}, each


def test_the_chart_runs_its_roles_as_the_stack_does(values: dict[str, str]) -> None:
    """So what the test above shows of one holds for the other."""
    secret = {
        "database-url": "database",
        "redis-url": "redis",
        "manager-secret": values["INFERFLOW_MANAGER_SECRET"],
        "admin-key": ADMIN_KEY,
        "services-key": "services",
    }
    there = compose_entries({**values, "INFERFLOW_WORKER_KEY": "services"})
    there["worker"] = there["worker-1"]
    chosen = {"kafka__bootstrapServers": "kafka:9092", "appName": values["APP_NAME"]}
    fields = {"metadata.name": "pod", "status.podIP": "10.0.0.7"}
    for role, entry in chart_entries(rendered(**chosen), secret, fields).items():
        assert entry.command == there[role].command
        assert comparable(entry) == comparable(there[role]), role


def comparable(entry: Entry) -> dict[str, str]:
    """Without what two deployments choose for themselves: names, places and sizes."""
    own = {"POD_NAME", "POD_IP", "INFERFLOW_PROCESSES", "INFERFLOW_MANAGER_FILES"}
    own |= {"INFERFLOW_WORKER_ID", "INFERFLOW_WORKER_ADVERTISE", "INFERFLOW_WORKER_MEMORY_MB"}
    own |= {"INFERFLOW_MANAGER_DATABASE", "REDIS_URL"}
    return {
        name: value.replace("shop-", "")
        for name, value in entry.environment.items()
        if name not in own
    }
