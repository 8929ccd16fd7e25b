"""A whole deployment with mutual TLS on every connection and API keys on every call: manager,
worker, feature store, compute service, orchestrator, and a client."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
import pytest
from cryptography import x509

import inferflow
from inferflow.app.key_cards import create_key, revoke_key
from inferflow.app.scaffold import write_starter
from inferflow.client.manager.admin import FleetAdmin
from inferflow.client.tls import for_channels
from inferflow.errors import (
    InferflowError,
    PermissionDenied,
    Unauthenticated,
    Unreachable,
)

from ..robustness.scenario import StartScenario
from ..servers.certificates import Certificates
from .fleet_process import ADMIN_KEY, Role, start, until

PORTS = ("--port", "0", "--http-port", "0")
BOOKS = ["1", "2", "3"]
PERSIST = "/persist.FeatureService/PersistFeatures"
RETRIEVE = "/retrieve.FeatureService/RetrieveFeatures"
COMPUTE = "/numerix.Numerix/Compute"
CONFIGS = "/inferflow.v1.Operate/ListConfigs"
MODELS = "/inferflow.serving.v1.Registry/ListModels"


class Secured:
    """Everything it starts it ends, with `close`."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.certs = Certificates(home / "certs")
        self.server_files = self.certs.server()
        self.client_files = self.certs.client("web", "spiffe://shop/web")
        self.keys_file = home / "keys.json"
        self.secrets: dict[str, str] = {}
        for name, may, facts in (
            ("shop", "inference", {}),
            ("ops", "view", {}),
            ("loader", "configure", {}),
            ("other", "inference", {"models": ["other*"]}),
            ("slow", "inference", {"per_second": 0.001, "burst": 2}),
            ("ends", "inference", {}),
        ):
            self.secrets[name] = create_key(self.keys_file, name, [may], **facts)["secret"]
        write_starter(home / "starter")
        self.roles: dict[str, Role] = {}
        try:
            self._start()
        except BaseException:
            self.close()
            raise

    @property
    def tls(self) -> inferflow.Tls:
        return inferflow.Tls(self.certs.ca, *self.client_files)

    def connect(self, name: str = "shop", tls: inferflow.Tls | None = None) -> Any:
        key = self.secrets.get(name, name)
        return inferflow.connect(
            self.roles["serve"].address, key=key, tls=tls or self.tls, attempts=1
        )

    def admin(self, key: str = ADMIN_KEY) -> FleetAdmin:
        manager = self.roles["manager"].address
        return FleetAdmin((manager,), key, tls=for_channels(self.tls))

    def close(self) -> None:
        for role in self.roles.values():
            if role.popen.poll() is None:
                role.end()

    def _start(self) -> None:
        cert, key = self.server_files
        secure = {
            "INFERFLOW_TLS_CERT": str(cert),
            "INFERFLOW_TLS_KEY": str(key),
            "INFERFLOW_TLS_CA": str(self.certs.ca),
            "INFERFLOW_TLS_CLIENT_AUTH": "required",
            "INFERFLOW_KEYS_FILE": str(self.keys_file),
            "INFERFLOW_DRAIN_PAUSE": "0ms",
            "INFERFLOW_COMPUTE_DRAIN_PAUSE": "0ms",
            "INFERFLOW_FEATURE_STORE_DRAIN_PAUSE": "0ms",
        }
        starter = self.home / "starter"
        with ThreadPoolExecutor() as threads:
            coming = {
                "manager": threads.submit(
                    start,
                    "manager",
                    self.home / "m",
                    *PORTS,
                    **secure,
                    INFERFLOW_ADMIN_KEY=ADMIN_KEY,
                ),
                "feature-store": threads.submit(start, "feature-store", starter, *PORTS, **secure),
                "numerix": threads.submit(start, "numerix", starter, *PORTS, **secure),
            }
            for name, each in coming.items():
                self.roles[name] = each.result()
        with self.admin() as admin:
            for name, may in (("workers", "worker"), ("callers", "inference")):
                self.secrets[name] = admin.create_key(name, [may])["secret"]
            model = starter / "models" / "like_model" / "1" / "model.onnx"
            admin.upload("like_model", {"model.onnx": model}, stage="production")
        manager = self.roles["manager"].address
        joining = ("--manager", manager, "--key", self.secrets["workers"])
        self.roles["worker"] = start("worker", self.home / "w", *PORTS, *joining, **secure)
        self.roles["serve"] = start(
            "serve",
            self._orchestrated(starter, manager),
            *PORTS,
            **secure,
            INFERFLOW_API_KEY=self.secrets["callers"],
            externalServiceOnFs_host=self.roles["feature-store"].address,
            externalServiceOnFs_callerToken=self.secrets["shop"],
            numerixClientV1_host=self.roles["numerix"].address,
            NUMERIX_CLIENT_V1_AUTHTOKEN=self.secrets["shop"],
            INFERFLOW_EXPLAIN="on",
        )

    def _orchestrated(self, starter: Path, manager: str) -> Path:
        """The project without rows and models of its own."""
        folder = self.home / "orchestrator"
        shutil.copytree(starter / "configs", folder / "configs")
        (folder / "features").mkdir()
        shutil.copy(starter / "features" / "schema.yaml", folder / "features")
        shutil.copy(starter / "expressions.yaml", folder)
        (folder / "inferflow.toml").write_text(f'[endpoints]\n"" = "manager://{manager}"\n')
        return folder


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    found = Secured(tmp_path_factory.mktemp("secured"))
    try:
        yield found
    finally:
        found.close()


def status(
    address: str, path: str, tls: inferflow.Tls | None, *headers: tuple[str, str], body: bytes = b""
) -> str:
    """How a call ends."""
    options = (("grpc.use_local_subchannel_pool", 1), ("grpc.enable_retries", 0))
    if tls is None:
        channel = grpc.insecure_channel(address, options=options)
    else:
        pems = [Path(each).read_bytes() if each else None for each in (tls.ca, tls.key, tls.cert)]
        channel = grpc.secure_channel(address, grpc.ssl_channel_credentials(*pems), options)
    with channel:
        try:
            channel.unary_unary(path)(body, timeout=10, metadata=headers)
        except grpc.RpcError as refused:
            return str(refused.code().name)
    return "OK"


def bearer(key: str) -> tuple[str, str]:
    return ("authorization", f"Bearer {key}")


def test_scores_over_mutual_tls_everywhere_are_those_of_one_process(secured: Secured) -> None:
    with inferflow.open(secured.home / "starter") as flow, secured.connect() as client:
        here = flow.score("ranker", user="ada", book=BOOKS)
        there = client.score("ranker", user="ada", book=BOOKS)
    assert there.targets.errors == here.targets.errors
    for name, column in here.targets.columns.items():
        assert list(there.targets.columns[name].values) == list(column.values)


ALL = ("manager", "worker", "feature-store", "numerix", "serve")


@pytest.mark.parametrize("role", ALL)
def test_no_connection_without_a_certificate_of_the_authority_reaches_a_handler(
    secured: Secured, role: str, tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("G10", "plain text, no certificate, a foreign, an old, a wrong authority")
    health = "/grpc.health.v1.Health/Check"
    address = secured.roles[role].address
    other = Certificates(tmp_path / "other")
    old = Certificates(tmp_path / "old", age_days=20)
    ca = secured.certs.ca
    assert status(address, health, secured.tls) == "OK"
    strangers = (
        None,
        inferflow.Tls(ca),
        inferflow.Tls(ca, *other.client()),
        inferflow.Tls(ca, *old.client()),
        inferflow.Tls(other.ca, *secured.client_files),
    )
    ended = [status(address, health, each) for each in strangers]
    reached = [each for each in ended if each != "UNAVAILABLE"]
    tried.none(f"handler is reached, in any of {len(ALL)} roles", reached, of=len(ended))


@pytest.mark.parametrize("role", ALL)
def test_health_over_http_is_private_too(secured: Secured, role: str) -> None:
    said = secured.roles[role].said
    url = "https://" + said.partition("HTTP  https://")[2].partition("/")[0] + "/health/live"
    context = ssl.create_default_context(cafile=str(secured.certs.ca))
    with pytest.raises((urllib.error.URLError, OSError)):
        urllib.request.urlopen(url, timeout=10, context=context).close()
    context.load_cert_chain(*secured.client_files)
    with urllib.request.urlopen(url, timeout=10, context=context) as answer:
        assert answer.status == 200


def test_a_client_without_a_key_or_with_a_wrong_one_is_not_let_in(
    secured: Secured, scenario: StartScenario
) -> None:
    tried = scenario("G1", "no key, a wrong one, nonsense, another fleet's")
    wrong = secured.secrets["shop"][:-1] + ("A" if secured.secrets["shop"][-1] != "A" else "B")
    refused_s: list[float] = []
    for key in ("", wrong, "ifk_nonsense", secured.secrets["callers"]):
        with secured.connect(key) as client:
            for _ in range(6):  # the first opens the connection
                began = time.monotonic()
                with pytest.raises(Unauthenticated):
                    client.score("ranker", user="ada", book=BOOKS)
                refused_s.append(time.monotonic() - began)
    tried.within("median time to be refused, over TLS", sorted(refused_s)[12], 0.01)


def test_the_wrong_permission_and_the_wrong_model_are_denied(secured: Secured) -> None:
    with secured.connect("ops") as client:
        with pytest.raises(PermissionDenied, match="'inference'"):
            client.score("ranker", user="ada", book=BOOKS)
        assert [each["id"] for each in client.configs()] == ["ranker"]
    with secured.connect("shop") as client, pytest.raises(PermissionDenied, match="'view'"):
        client.configs()
    with secured.connect("other") as client, pytest.raises(PermissionDenied, match="not for model"):
        client.score("ranker", user="ada", book=BOOKS)


def test_headers_of_the_original_are_as_good_as_a_bearer(secured: Secured) -> None:
    serve, tls = secured.roles["serve"].address, secured.tls
    named = ("inferflow-caller-id", "ops")
    assert (
        status(serve, CONFIGS, tls, named, ("inferflow-auth-token", secured.secrets["ops"])) == "OK"
    )
    assert status(serve, CONFIGS, tls, named, ("inferflow-auth-token", "x")) == "UNAUTHENTICATED"


def test_feature_store_and_compute_service_ask_for_keys_too(secured: Secured) -> None:
    features, numerix = (secured.roles[name].address for name in ("feature-store", "numerix"))
    shop, loader = (bearer(secured.secrets[name]) for name in ("shop", "loader"))
    tls = secured.tls
    assert status(features, RETRIEVE, tls) == "INVALID_ARGUMENT"  # as the original names headers
    assert status(features, RETRIEVE, tls, bearer("ifk_wrong")) == "UNAUTHENTICATED"
    assert status(features, PERSIST, tls, shop) == "PERMISSION_DENIED"
    assert status(features, PERSIST, tls, loader) != "PERMISSION_DENIED"
    assert status(numerix, COMPUTE, tls) == "UNAUTHENTICATED"
    assert status(numerix, COMPUTE, tls, loader) == "PERMISSION_DENIED"
    assert status(numerix, COMPUTE, tls, shop) == "OK"
    assert status(secured.roles["manager"].address, MODELS, tls) == "UNAUTHENTICATED"


def test_a_key_that_asks_too_often_is_told_when_to_come_back(
    secured: Secured, scenario: StartScenario
) -> None:
    tried = scenario("G9", "a key asks more often than it may")
    with secured.connect("slow") as client:
        for _ in range(2):
            client.score("ranker", user="ada", book=BOOKS)
        with pytest.raises(InferflowError) as refused:
            client.score("ranker", user="ada", book=BOOKS)
    hint = getattr(refused.value, "retry_after_ms", 0)
    tried.at_least("told to come back after", hint, 1_000, " ms")


def test_a_revoked_key_ends_while_the_server_runs(
    secured: Secured, scenario: StartScenario
) -> None:
    tried = scenario("G6", "a key of a keys file is revoked while it is used")
    with secured.connect("ends") as client:
        client.score("ranker", user="ada", book=BOOKS)
        revoke_key(secured.keys_file, secured.secrets["ends"].split("_")[1])

        def is_refused() -> bool:
            try:
                client.score("ranker", user="ada", book=BOOKS)
            except Unauthenticated:
                return True
            return False

        with tried.timed("refused", 2):
            until(is_refused, within_s=5)


def test_what_is_inside_is_shown_over_http_to_those_who_may_view(secured: Secured) -> None:
    said = secured.roles["serve"].said
    url = "https://" + said.partition("HTTP  https://")[2].partition("/")[0] + "/configs"
    context = ssl.create_default_context(cafile=str(secured.certs.ca))
    context.load_cert_chain(*secured.client_files)

    def code(key: str) -> int:
        asked = urllib.request.Request(
            url, headers={"Authorization": f"Bearer {key}"} if key else {}
        )
        try:
            with urllib.request.urlopen(asked, timeout=10, context=context) as answer:
                return int(answer.status)
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code

    found = [code(secured.secrets.get(name, "")) for name in ("nobody", "shop", "ops")]
    assert found == [401, 403, 200]


ANY_CALL = {
    "manager": MODELS,
    "worker": "/inference.GRPCInferenceService/ModelInfer",
    "feature-store": RETRIEVE,
    "numerix": COMPUTE,
    "serve": CONFIGS,
}


@pytest.mark.parametrize("role", ALL)
def test_a_role_counts_whom_it_turns_away_and_shows_how_long_its_certificates_last(
    secured: Secured, role: str
) -> None:
    said = secured.roles[role].said
    url = "https://" + said.partition("HTTP  https://")[2].partition("/")[0] + "/metrics"
    context = ssl.create_default_context(cafile=str(secured.certs.ca))
    context.load_cert_chain(*secured.client_files)

    def shown(metric: str, label: str) -> float:
        with urllib.request.urlopen(url, timeout=10, context=context) as answer:
            lines = answer.read().decode().splitlines()
        (line,) = [each for each in lines if each.startswith(metric + "{") and label in each]
        assert f'role="{role}"' in line
        return float(line.rpartition(" ")[2])

    def refused() -> float:
        return shown("inferflow_refused_calls_total", 'reason="unauthenticated"')

    before = refused()
    assert status(secured.roles[role].address, ANY_CALL[role], secured.tls) != "OK"
    assert refused() == before + 1
    for file in ("cert", "ca"):
        days_left = shown("inferflow_certificate_expiry_seconds", f'file="{file}"') / 86_400
        assert 9 < days_left < 10.1


def served_serial(address: str, secured: Secured) -> int:
    """The certificate that a new connection is shown."""
    context = ssl.create_default_context(cafile=str(secured.certs.ca))
    context.load_cert_chain(*secured.client_files)
    context.set_alpn_protocols(["h2"])
    host, _, port = address.rpartition(":")
    with (
        socket.create_connection((host, int(port)), 10) as plain,
        context.wrap_socket(plain, server_hostname="localhost") as wrapped,
    ):
        found = wrapped.getpeercert(binary_form=True)
    assert found is not None
    return x509.load_der_x509_certificate(found).serial_number


def test_certificates_are_renewed_while_calls_go_on_and_none_fails(
    secured: Secured, scenario: StartScenario
) -> None:
    tried = scenario("B7", f"certificates of {len(ALL)} roles renewed three times under load")
    done, failed, stop = [0], [], threading.Event()

    def keep_asking() -> None:
        while not stop.is_set():
            try:
                with secured.connect() as client:  # a new connection now and then
                    for _ in range(5):
                        client.score("ranker", user="ada", book=BOOKS)
                        done[0] += 1
            except InferflowError as broke:
                failed.append(str(broke))

    asking = [threading.Thread(target=keep_asking) for _ in range(2)]
    for each in asking:
        each.start()
    try:
        for _ in range(3):
            before = done[0]
            cert, _ = secured.certs.server()
            secured.certs.client("web", "spiffe://shop/web")
            fresh = x509.load_pem_x509_certificate(cert.read_bytes()).serial_number
            with tried.timed("new connections are shown the new one", 10):
                for role in ALL:
                    assert served_serial(secured.roles[role].address, secured) == fresh
            until(lambda before=before: failed or done[0] > before + 20)
    finally:
        stop.set()
        for each in asking:
            each.join(30)
    tried.none("call fails", failed, of=done[0])


@pytest.mark.scenario("G10")
def test_a_server_that_is_not_who_it_should_be_is_not_called(
    secured: Secured, tmp_path: Path
) -> None:
    other = Certificates(tmp_path)
    tls = inferflow.Tls(other.ca, *secured.client_files)
    with secured.connect("shop", tls) as client, pytest.raises(Unreachable):
        client.score("ranker", user="ada", book=BOOKS)


def test_a_change_leaves_a_line_that_says_who_made_it_and_no_log_has_a_key(
    secured: Secured,
) -> None:
    features = secured.roles["feature-store"].address
    status(features, PERSIST, secured.tls, bearer(secured.secrets["loader"]))
    with secured.admin() as admin:
        made = admin.create_key("passing", ["inference"])
        admin.revoke_key(made["key"]["key_id"])
        trail = [(each["action"], each["subject"]) for each in admin.audit(5)]
    assert ("key revoked", made["key"]["key_id"]) in trail
    logs = [path.read_text() for path in secured.home.rglob("*.log")]
    lines = [json.loads(line) for text in logs for line in text.splitlines() if '"audit"' in line]
    told = {(line["action"], line["by"], line["outcome"]) for line in lines}
    assert ("CreateKey", ADMIN_KEY.split("_")[1], "ok") in told
    assert ("RevokeKey", ADMIN_KEY.split("_")[1], "ok") in told
    loader = secured.secrets["loader"].split("_")[1]
    assert any(action == "PersistFeatures" and by == loader for action, by, _ in told)
    everything = "\n".join(logs)
    for secret in (*secured.secrets.values(), ADMIN_KEY, made["secret"]):
        assert secret.split("_", 2)[2] not in everything


def test_several_processes_share_certificates_and_keys(secured: Secured) -> None:
    cert, key = map(str, secured.server_files)
    role = start(
        "serve",
        secured.home / "starter",
        *PORTS,
        "--processes",
        "2",
        INFERFLOW_TLS_CERT=cert,
        INFERFLOW_TLS_KEY=key,
        INFERFLOW_TLS_CA=str(secured.certs.ca),
        INFERFLOW_TLS_CLIENT_AUTH="required",
        INFERFLOW_AUTH_MANAGER="true",
        INFERFLOW_MANAGER=secured.roles["manager"].address,
        INFERFLOW_API_KEY=secured.secrets["workers"],
        INFERFLOW_DATA_DIR=str(secured.home / "several"),
        INFERFLOW_DRAIN_PAUSE="0ms",
    )
    try:
        facts: Any = {"tls": secured.tls, "attempts": 1}
        for _ in range(4):  # a fleet's key is good here, and each connection may meet another
            with inferflow.connect(role.address, key=secured.secrets["callers"], **facts) as client:
                assert client.score("ranker", user="ada", book=BOOKS).targets is not None
        stranger = inferflow.connect(role.address, key=secured.secrets["shop"], **facts)
        with stranger as client, pytest.raises(Unauthenticated):
            client.score("ranker", user="ada", book=BOOKS)
        assert "https://" in role.said
    finally:
        role.end()
