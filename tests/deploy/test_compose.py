"""The stack on one machine: valid, closed, bounded, and without a password of its own."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from inferflow.access.keys import parse_key
from inferflow.app.settings_report import odd_variables
from inferflow.serving.manager.secret import parse_secret

from .files import COMPOSE, DEPLOY, compose, compose_entries

SECRETS = {
    name: f"secret-of-{name.lower()}"
    for name in (
        "POSTGRES_PASSWORD",
        "REDIS_PASSWORD",
        "GRAFANA_PASSWORD",
        "INFERFLOW_MANAGER_SECRET",
        "INFERFLOW_ADMIN_KEY",
    )
}
STACK = compose(SECRETS)
SERVICES: dict[str, dict[str, Any]] = STACK["services"]
OURS = [name for name, service in SERVICES.items() if service["image"].startswith("inferflow:")]
RUNNING = [name for name, service in SERVICES.items() if "profiles" not in service]
each_service = pytest.mark.parametrize("name", SERVICES)


def test_it_is_what_the_specification_allows() -> None:
    compose_spec = pytest.importorskip("compose_spec", reason="compose-spec is not installed")
    compose_spec.PyCompose.from_json(json.dumps(STACK)).validate()


def test_everything_an_operator_expects_is_in_it() -> None:
    assert set(RUNNING) == {
        *("orchestrator", "gateway", "feature-store", "numerix", "manager", "worker-1", "worker-2"),
        *("etcd", "redis", "kafka", "postgres", "prometheus", "alertmanager", "grafana", "logs"),
    }


@each_service
def test_a_service_has_a_pinned_image_of_no_named_registry(name: str) -> None:
    image, _, tag = SERVICES[name]["image"].rpartition(":")
    assert tag != "latest"
    assert "." not in image.partition("/")[0]


@each_service
def test_a_service_runs_without_rights_on_a_root_it_cannot_write(name: str) -> None:
    service = SERVICES[name]
    user, _, _ = service["user"].partition(":")
    assert int(user) > 0
    assert service["cap_drop"] == ["ALL"]
    assert "no-new-privileges:true" in service["security_opt"]
    assert service["read_only"] or name == "kafka"
    assert not service.get("privileged")
    assert "docker.sock" not in json.dumps(service)


@each_service
def test_a_service_is_bounded(name: str) -> None:
    limits = SERVICES[name]["deploy"]["resources"]["limits"]
    assert limits["memory"]
    assert float(limits["cpus"]) > 0


@pytest.mark.parametrize("name", RUNNING)
def test_a_running_service_is_watched(name: str) -> None:
    service = SERVICES[name]
    assert service["healthcheck"]["test"][0] in {"CMD", "CMD-SHELL"}
    assert service["restart"] == "unless-stopped"


@pytest.mark.parametrize("name", sorted(set(OURS) & set(RUNNING)))
def test_the_health_check_of_a_role_asks_the_port_it_listens_on(name: str) -> None:
    asked = SERVICES[name]["healthcheck"]["test"][-1].rpartition(":")[2]
    environment = SERVICES[name]["environment"]
    ports = {key: value for key, value in environment.items() if key.endswith("HTTP_PORT")}
    assert set(ports.values()) == {asked} or environment["INFERFLOW_GATEWAY_PORT"] == asked


@pytest.mark.parametrize("name", OURS)
def test_every_variable_of_a_role_is_a_setting(name: str) -> None:
    environment = compose_entries(SECRETS)[name].environment
    assert [str(odd) for odd in odd_variables(environment)] == []


def test_nothing_is_published_beyond_this_machine() -> None:
    published = [port for service in SERVICES.values() for port in service.get("ports", ())]
    assert published
    assert all(str(port).startswith("127.0.0.1:") for port in published)
    assert STACK["networks"]["back"]["internal"] is True
    for name in ("etcd", "redis", "kafka", "postgres", "feature-store", "numerix"):
        assert SERVICES[name]["networks"] == ["back"]


def test_every_role_asks_its_callers_for_a_key() -> None:
    for name in sorted(set(OURS) & set(RUNNING)):
        environment = SERVICES[name]["environment"]
        assert "INFERFLOW_AUTH" not in environment, name
        has_keys_of_its_own = name == "manager" or name.startswith("worker-")
        assert has_keys_of_its_own or environment["INFERFLOW_AUTH_MANAGER"] == "true", name


def test_whoever_calls_a_role_has_the_key_it_takes() -> None:
    shown = {"externalServiceOnFs_host": "externalServiceOnFs_callerToken"}
    shown |= {"numerixClientV1_host": "NUMERIX_CLIENT_V1_AUTHTOKEN"}
    shown |= {"INFERFLOW_MANAGER": "INFERFLOW_API_KEY"}
    for name, entry in compose_entries({**SECRETS, "INFERFLOW_WORKER_KEY": "services"}).items():
        for called, key in shown.items():
            assert called not in entry.environment or entry.environment[key], (name, called)


def test_it_has_no_secret_of_its_own() -> None:
    text = COMPOSE.read_text("utf-8")
    for name in SECRETS:
        with pytest.raises(KeyError, match=name):
            compose({key: value for key, value in SECRETS.items() if key != name})
    secretive = re.findall(r"^\s*(\w*(?:PASSWORD|SECRET|KEY|TOKEN)): (.*)$", text, re.MULTILINE)
    assert secretive
    for name, value in secretive:
        assert value.startswith("${"), name


def test_what_it_mounts_and_names_is_there() -> None:
    for name, service in SERVICES.items():
        for volume in service.get("volumes", ()):
            source = volume.partition(":")[0]
            if source.startswith(".") and "profiles" not in service:
                assert (COMPOSE.parent / source).exists(), (name, source)
            elif not source.startswith("."):
                assert source in STACK["volumes"]
        assert set(service.get("depends_on", ())) <= set(SERVICES)
        assert set(service["networks"]) <= set(STACK["networks"])


def test_log_shipping_hears_what_docker_sends() -> None:
    shipping = yaml.safe_load((DEPLOY / "compose/logs.yaml").read_text("utf-8"))
    (source,) = shipping["pipeline"]["inputs"]
    sent = SERVICES["orchestrator"]["logging"]["options"]["fluentd-address"]
    assert sent.endswith(f":{source['port']}")
    assert SERVICES["logs"]["ports"] == [f"{sent}:{source['port']}"]
    assert SERVICES["logs"]["logging"]["driver"] == "json-file"  # not to itself


def test_setup_writes_every_secret_once(tmp_path: Path) -> None:
    script = tmp_path / "setup.sh"
    script.write_bytes((DEPLOY / "compose/setup.sh").read_bytes())
    subprocess.run(["sh", str(script)], check=True, capture_output=True, timeout=30)
    written = (tmp_path / ".env").read_text()
    values = dict(line.split("=", 1) for line in written.splitlines() if "=" in line)
    assert (tmp_path / ".env").stat().st_mode & 0o777 == 0o600
    assert set(SECRETS) <= {name for name, value in values.items() if value}
    assert len(parse_secret(values["INFERFLOW_MANAGER_SECRET"], "it")) == 32
    parse_key(values["INFERFLOW_ADMIN_KEY"])
    compose(values)

    subprocess.run(["sh", str(script)], check=True, capture_output=True, timeout=30)
    assert (tmp_path / ".env").read_text() == written


def test_the_example_names_what_setup_writes() -> None:
    example = (DEPLOY / "compose/env.example").read_text("utf-8")
    assert set(SECRETS) <= set(re.findall(r"^(\w+)=$", example, re.MULTILINE))
