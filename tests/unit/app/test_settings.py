"""Static settings: names, precedence, and what is refused."""

from __future__ import annotations

import os
import re
from pathlib import Path

import pytest

from inferflow.app.project_models import open_remote_models
from inferflow.app.setting_table import settings_of
from inferflow.app.settings import Settings, read_settings
from inferflow.app.wiring import open_embedded
from inferflow.errors import InvalidInput

DOCUMENTED = {
    "APP_PORT": ("serve.port", "50052", 50052),
    "APP_ENV": ("telemetry.app_env", "production", "production"),
    "ETCD_ENDPOINTS": ("etcd.endpoints", "etcd-0:2379,etcd-1:2379", ("etcd-0:2379", "etcd-1:2379")),
    "ETCD_DIAL_TIMEOUT": ("etcd.dial_timeout", "5s", 5000),
    "externalServiceOnFs_host": ("onfs.host", "onfs-api:50051", "onfs-api:50051"),
    "externalServiceOnFs_callerId": ("onfs.caller_id", "me", "me"),
    "externalServiceOnFs_callerToken": ("onfs.caller_token", "hush", "hush"),
    "externalServiceOnFs_batchSize": ("onfs.batch_size", "100", 100),
    "externalServiceOnFs_deadline": ("onfs.deadline", "200ms", 200),
    "externalServicePredator_defaultDeadline": ("predator.deadline", "100ms", 100),
    "numerixClientV1_host": ("numerix.host", "numerix:50052", "numerix:50052"),
    "numerixClientV1_deadline": ("numerix.deadline", "100ms", 100),
    "KafkaBootstrapServers": (
        "kafka.bootstrap_servers",
        "k0:9092, k1:9092",
        ("k0:9092", "k1:9092"),
    ),
    "KafkaLoggingTopic": ("kafka.logging_topic", "logs", "logs"),
    "TELEGRAF_HOST": ("telemetry.telegraf_host", "telegraf", "telegraf"),
    "TELEGRAF_PORT": ("telemetry.telegraf_port", "8126", 8126),
    "CACHE_SIZE_MB": ("cache_size_mb", "256", 256),
    "CACHE_TYPE": ("cache_type", "freecache", "freecache"),
}
ORIGINAL = {
    "APP_NAME": ("telemetry.app_name", "inferflow", "inferflow"),
    "APP_LOG_LEVEL": ("telemetry.log_level", "INFO", "INFO"),
    "APP_GC_PERCENTAGE": ("compatibility.gc_percentage", "1", 1),
    "ETCD_SERVER": ("etcd.endpoints", "http://etcd:2379", ("http://etcd:2379",)),
    "ETCD_WATCHER_ENABLED": ("etcd.watcher_enabled", "false", False),
    "ETCD_USERNAME": ("etcd.username", "me", "me"),
    "ETCD_PASSWORD": ("etcd.password", "hush", "hush"),
    "IN_MEMORY_CACHE_SIZE_IN_BYTES": ("cache_size_mb", "6291456", 6),
    "DAG_TOPOLOGY_CACHE_SIZE": ("compatibility.dag_topology_cache_size", "500", 500),
    "DAG_TOPOLOGY_CACHE_TTL_SEC": ("compatibility.dag_topology_cache_ttl_sec", "300", 300),
    "EXTERNAL_SERVICE_ONFS_FS_HOST": ("onfs.host", "onfs-api-server", "onfs-api-server"),
    "EXTERNAL_SERVICE_ONFS_FS_PORT": ("onfs.port", "8080", 8080),
    "EXTERNAL_SERVICE_ONFS_FS_GRPC_PLAIN_TEXT": ("onfs.plain_text", "false", False),
    "EXTERNAL_SERVICE_ONFS_FS_CALLER_ID": ("onfs.caller_id", "me", "me"),
    "EXTERNAL_SERVICE_ONFS_FS_CALLER_TOKEN": ("onfs.caller_token", "hush", "hush"),
    "EXTERNAL_SERVICE_ONFS_FS_DEAD_LINE": ("onfs.deadline", "200", 200),
    "EXTERNAL_SERVICE_ONFS_FS_BATCH_SIZE": ("onfs.batch_size", "50", 50),
    "EXTERNAL_SERVICE_PREDATOR_PORT": ("predator.port", "8091", 8091),
    "EXTERNAL_SERVICE_PREDATOR_GRPC_PLAIN_TEXT": ("predator.plain_text", "false", False),
    "EXTERNAL_SERVICE_PREDATOR_CALLER_ID": ("predator.caller_id", "me", "me"),
    "EXTERNAL_SERVICE_PREDATOR_CALLER_TOKEN": ("predator.caller_token", "hush", "hush"),
    "EXTERNAL_SERVICE_PREDATOR_DEADLINE": ("predator.deadline", "200", 200),
    "NUMERIX_CLIENT_V1_HOST": ("numerix.host", "numerix", "numerix"),
    "NUMERIX_CLIENT_V1_PORT": ("numerix.port", "8084", 8084),
    "NUMERIX_CLIENT_V1_DEADLINE_MS": ("numerix.deadline", "5000", 5000),
    "NUMERIX_CLIENT_V1_PLAINTEXT": ("numerix.plain_text", "false", False),
    "NUMERIX_CLIENT_V1_AUTHTOKEN": ("numerix.auth_token", "hush", "hush"),
    "NUMERIX_CLIENT_V1_BATCHSIZE": ("numerix.batch_size", "50", 50),
    "METRIC_SAMPLING_RATE": ("telemetry.metric_sampling_rate", "0.5", 0.5),
    "KAFKA_BOOTSTRAP_SERVERS": ("kafka.bootstrap_servers", "broker:29092", ("broker:29092",)),
    "KAFKA_V2_LOG_TOPIC": ("kafka.logging_topic", "logs", "logs"),
    "KAFKA_LOGGING_TOPIC": ("kafka.logging_topic", "logs", "logs"),
}


@pytest.fixture(autouse=True)
def nothing_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = {name.lower() for setting in settings_of(Settings) for name in setting.variables}
    for name in [name for name in os.environ if name.lower() in ours]:
        monkeypatch.delenv(name)


@pytest.mark.parametrize("variable", [*DOCUMENTED, *ORIGINAL])
def test_a_variable_of_the_original_sets_what_it_names(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, text, wanted = {**DOCUMENTED, **ORIGINAL}[variable]
    monkeypatch.setenv(variable, text)
    found = read_settings(tmp_path)
    for part in name.split("."):
        found = getattr(found, part)
    if hasattr(found, "get_secret_value"):
        found = found.get_secret_value()
    assert found == wanted


def test_the_environment_wins_over_the_file_and_the_file_over_the_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inferflow.toml").write_text("[onfs]\ndeadline = '1s'\nport = 1\n")
    monkeypatch.setenv("externalServiceOnFs_deadline", "200ms")
    onfs = read_settings(tmp_path).onfs
    assert (onfs.deadline, onfs.port, onfs.caller_id) == (200, 1, "inferflow")


def test_of_two_variables_for_one_setting_the_documented_one_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IN_MEMORY_CACHE_SIZE_IN_BYTES", "1048576")
    monkeypatch.setenv("CACHE_SIZE_MB", "7")
    assert read_settings(tmp_path).cache_size_mb == 7


@pytest.mark.parametrize("variable", ["HOST", "PORT", "ENDPOINTS", "SERVE", "AUTH", "USERNAME"])
def test_variables_of_other_programs_set_nothing(
    variable: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = read_settings(tmp_path)
    monkeypatch.setenv(variable, "1")
    assert read_settings(tmp_path) == before


def test_a_variable_sets_one_thing_though_maybe_of_several_roles() -> None:
    keys: dict[str, set[str]] = {}
    for setting in settings_of(Settings):
        for name in setting.variables:
            keys.setdefault(name.lower(), set()).add(setting.key)
    assert {name: found for name, found in keys.items() if len(found) > 1} == {}


def test_every_setting_says_what_it_means() -> None:
    assert [setting.name for setting in settings_of(Settings) if not setting.meaning] == []


def test_settings_that_nothing_acts_on_are_these() -> None:
    idle = [setting.name for setting in settings_of(Settings) if setting.unused]
    assert idle == [
        "cache_type",
        *(
            "compatibility." + name
            for name in ("gc_percentage", "dag_topology_cache_size", "dag_topology_cache_ttl_sec")
        ),
    ]


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("cache_size = 1", "'cache_size' (closest: 'cache_size_mb')"),
        ("[serve]\nprt = 1", "'serve.prt' (closest: 'port')"),
        ("[servr]\nport = 1", "'servr' (closest: 'serve')"),
        ("[kafka]\nxyzzy = 1", "'kafka.xyzzy' (no such setting)"),
        ("[serve]\nAPP_PORT = 1", "'serve.APP_PORT'"),
    ],
)
def test_a_key_of_the_file_that_is_no_setting_is_refused_with_the_nearest_one(
    written: str, message: str, tmp_path: Path
) -> None:
    (tmp_path / "inferflow.toml").write_text(written)
    with pytest.raises(InvalidInput, match=re.escape(message)):
        read_settings(tmp_path)


def test_everything_that_cannot_be_is_named_at_once_by_where_it_was_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inferflow.toml").write_text("[serve]\nport = 70000\n[onfs]\ndeadline = 'soon'")
    monkeypatch.setenv("TELEGRAF_PORT", "x")
    monkeypatch.setenv("APP_LOG_LEVEL", "loud")
    with pytest.raises(InvalidInput) as refused:
        read_settings(tmp_path)
    for part in (
        "APP_LOG_LEVEL: ",
        "TELEGRAF_PORT: ",
        "serve.port: ",
        "onfs.deadline: 'soon' is not a duration",
    ):
        assert part in str(refused.value)


def test_a_secret_that_cannot_be_is_not_repeated_in_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "inferflow.toml").write_text("[etcd]\npassword = ['hush']")
    with pytest.raises(InvalidInput) as refused:
        read_settings(tmp_path)
    assert "hush" not in str(refused.value)


@pytest.mark.parametrize(
    ("host", "wanted"),
    [
        ("", ""),
        ("onfs", "onfs:8089"),
        ("onfs:50051", "onfs:50051"),
        ("[::1]:50051", "[::1]:50051"),
        ("[::1]", "[::1]:8089"),
    ],
)
def test_a_port_in_the_host_wins(host: str, wanted: str, tmp_path: Path) -> None:
    (tmp_path / "inferflow.toml").write_text(f"[onfs]\nhost = '{host}'")
    assert read_settings(tmp_path).onfs.address == wanted


def test_steps_without_limits_get_those_that_are_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert read_settings(tmp_path).step_defaults.model_timeout_ms is None
    monkeypatch.setenv("externalServicePredator_defaultDeadline", "100ms")
    monkeypatch.setenv("externalServiceOnFs_batchSize", "50")
    monkeypatch.setenv("numerixClientV1_deadline", "0")
    defaults = read_settings(tmp_path).step_defaults
    assert (defaults.model_timeout_ms, defaults.feature_batch_size) == (100, 50)
    assert defaults.compute_timeout_ms is None


def test_models_are_not_called_in_plain_text_by_someone_who_asked_for_tls(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXTERNAL_SERVICE_PREDATOR_GRPC_PLAIN_TEXT", "false")
    monkeypatch.setenv("INFERFLOW_TLS_KEY", "client-key.pem")
    with pytest.raises(InvalidInput, match=r"tls\.key: there is no tls\.cert"):
        open_remote_models(read_settings(tmp_path))


def test_default_limits_reach_the_steps_of_a_project(
    echo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("numerixClientV1_deadline", "70ms")
    opened = open_embedded(echo, {"feature_backend": "memory"})
    try:
        ports = opened.ports(opened.store, opened.project.expressions)
        assert ports.defaults.compute_timeout_ms == 70
    finally:
        opened.close()


def test_a_table_given_in_code_changes_only_what_it_names(tmp_path: Path) -> None:
    (tmp_path / "inferflow.toml").write_text("[serve]\nport = 1\nhttp_port = 2\n")
    settings = read_settings(tmp_path, {"serve": {"port": 3, "max_deadline": "5s"}})
    assert (settings.serve.port, settings.serve.http_port) == (3, 2)
    assert settings.serve.max_deadline == 5_000


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"serve": {"prot": 3}}, "serve.prot"),
        ({"serve": {"port": "many"}}, "serve.port"),
        ({"cache_size": 3}, "cache_size_mb"),
        ({"cache_size_mb": -1}, "cache_size_mb"),
    ],
)
def test_what_is_given_in_code_is_checked_too(
    tmp_path: Path, given: dict[str, object], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        read_settings(tmp_path, given)


# --- endpoints ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("local=worker:8001", {"local": "worker:8001"}),
        ("a:1=b:2, c:3 = local:m@2", {"a:1": "b:2", "c:3": "local:m@2"}),
        ("local=a:1,b:1,old:1=c:1", {"local": "a:1,b:1", "old:1": "c:1"}),
        ("", {}),
    ],
)
def test_endpoints_are_a_table_or_pairs(
    written: str, meant: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFERFLOW_ENDPOINTS", written)
    assert read_settings(tmp_path).endpoints == meant


def test_an_endpoint_without_a_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFERFLOW_ENDPOINTS", "worker:8001")
    with pytest.raises(InvalidInput, match="NAME=VALUE"):
        read_settings(tmp_path)
