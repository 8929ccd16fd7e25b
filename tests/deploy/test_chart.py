"""The chart: what Kubernetes would be given, checked object by object."""

from __future__ import annotations

import subprocess
from typing import Any

import pytest

from inferflow.app.settings_report import odd_variables

from .files import CHART, chart_entries, of_kind, rendered, tool

ROLES = {"orchestrator", "gateway", "manager", "worker", "feature-store", "numerix"}
VARIANTS = {
    "default": ((), {}),
    "gke": (("values-gke.yaml",), {}),
    "eks": (("values-eks.yaml",), {}),
    "tls": (
        (),
        {
            "tls__secretName": "certificates",
            "tls__clientAuth": "required",
            "tls__serverName": "inferflow",
        },
    ),
    "own secret": ((), {"secret__values__admin-key": "x"}),
}
SECRET = dict.fromkeys(
    ("database-url", "redis-url", "manager-secret", "admin-key", "services-key"), "x"
)
Objects = list[dict[str, Any]]


@pytest.fixture(scope="module", params=VARIANTS)
def objects(request: pytest.FixtureRequest) -> Objects:
    files, settings = VARIANTS[request.param]
    return rendered(*files, **settings)


@pytest.fixture(scope="module")
def plain() -> Objects:
    return rendered()


def pods(objects: Objects) -> dict[str, dict[str, Any]]:
    return {
        name.removeprefix("shop-"): each["spec"]["template"]["spec"]
        for name, each in of_kind(objects, "Deployment").items()
    }


def test_the_linter_has_nothing_to_say() -> None:
    command = [tool("helm"), "lint", "--strict", str(CHART)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stdout


def test_every_object_is_valid_for_kubernetes(objects: Objects) -> None:
    kubernetes_validate = pytest.importorskip("kubernetes_validate")
    for each in objects:
        kubernetes_validate.validate(each, "1.34", strict=True)


def test_every_role_is_deployed(objects: Objects) -> None:
    assert set(pods(objects)) == ROLES
    for kind in ("Service", "PodDisruptionBudget", "NetworkPolicy", "ServiceAccount"):
        assert set(of_kind(objects, kind)) == {f"shop-{role}" for role in ROLES}


def test_pods_have_no_rights_and_a_root_they_cannot_write(objects: Objects) -> None:
    for spec in pods(objects).values():
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] == 10001
        assert spec["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert spec["automountServiceAccountToken"] is False
        (container,) = spec["containers"]
        assert container["securityContext"] == {
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        }


def test_pods_are_probed_bounded_and_pinned(objects: Objects) -> None:
    for role, spec in pods(objects).items():
        (container,) = spec["containers"]
        assert container["livenessProbe"]["httpGet"]["path"] == "/health/live"
        assert container["readinessProbe"]["httpGet"]["path"] == "/health/ready"
        assert container["startupProbe"]["httpGet"]["path"] == "/health/live"
        resources = container["resources"]
        assert set(resources["requests"]) == set(resources["limits"]) == {"cpu", "memory"}
        assert not container["image"].endswith((":latest", ":"))
        for volume in spec["volumes"]:
            assert "hostPath" not in volume, role
            assert volume.get("emptyDir", {"sizeLimit": "1"})["sizeLimit"]


def test_a_drain_has_the_time_it_needs(objects: Objects) -> None:
    """Two seconds of pause and thirty of grace, unless set otherwise."""
    for spec in pods(objects).values():
        assert spec["terminationGracePeriodSeconds"] > 2 + 30


def test_updates_leave_nobody_without_an_answer(objects: Objects) -> None:
    for deployment in of_kind(objects, "Deployment").values():
        update = deployment["spec"]["strategy"]["rollingUpdate"]
        assert (update["maxUnavailable"], update["maxSurge"]) == (0, 1)
    for budget in of_kind(objects, "PodDisruptionBudget").values():
        assert budget["spec"]["maxUnavailable"] == 1


def test_secrets_come_from_a_secret_and_from_nowhere_else(objects: Objects) -> None:
    for spec in pods(objects).values():
        for variable in spec["containers"][0]["env"]:
            if any(
                word in variable["name"].upper()
                for word in ("KEY", "SECRET", "PASSWORD", "URL", "TOKEN")
            ):
                if variable["name"].startswith("INFERFLOW_TLS"):
                    continue
                assert "secretKeyRef" in variable["valueFrom"], variable["name"]


def test_every_variable_is_a_setting(objects: Objects) -> None:
    fields = {"metadata.name": "pod", "status.podIP": "10.0.0.7"}
    for role, entry in chart_entries(objects, SECRET, fields).items():
        assert [str(odd) for odd in odd_variables(entry.environment)] == [], role


def test_what_selects_pods_finds_those_of_one_role(objects: Objects) -> None:
    labels = {
        name: each["spec"]["template"]["metadata"]["labels"]
        for name, each in of_kind(objects, "Deployment").items()
    }

    def found(selector: dict[str, str]) -> set[str]:
        return {name for name, has in labels.items() if selector.items() <= has.items()}

    for name in labels:
        assert found(of_kind(objects, "Service")[name]["spec"]["selector"]) == {name}
        for kind, key in (("PodDisruptionBudget", "selector"), ("NetworkPolicy", "podSelector")):
            assert found(of_kind(objects, kind)[name]["spec"][key]["matchLabels"]) == {name}


def test_a_role_may_be_called_by_those_that_call_it(plain: Objects) -> None:
    """Each side of a call has its own policy; both must agree."""
    policies = of_kind(plain, "NetworkPolicy")

    def peers(name: str, direction: str, side: str) -> set[str]:
        return {
            peer["podSelector"]["matchLabels"]["app.kubernetes.io/component"]
            for rule in policies[name]["spec"][direction]
            for peer in rule.get(side, ())
            if "podSelector" in peer
        }

    called = {(name, role) for name in policies for role in peers(name, "egress", "to")}
    let_in = {
        (f"shop-{role}", name) for name in policies for role in peers(name, "ingress", "from")
    }
    assert {(name, f"shop-{role}") for name, role in called} == let_in
    assert ("shop-orchestrator", "numerix") in called
    for policy in policies.values():
        assert policy["spec"]["policyTypes"] == ["Ingress", "Egress"]
        assert all(rule for rule in policy["spec"]["ingress"]), "an empty rule lets everybody in"


def test_a_port_probed_and_served_is_a_port_of_the_container(objects: Objects) -> None:
    services = of_kind(objects, "Service")
    for role, spec in pods(objects).items():
        ports = {each["name"]: each["containerPort"] for each in spec["containers"][0]["ports"]}
        assert "http" in ports
        for port in services[f"shop-{role}"]["spec"]["ports"]:
            assert ports[port["targetPort"]] == port["port"]


@pytest.mark.parametrize("values", ["values-gke.yaml", "values-eks.yaml"])
def test_clouds_scale_on_processor_and_forecast(values: str) -> None:
    scaler = of_kind(rendered(values), "HorizontalPodAutoscaler")["shop-orchestrator"]["spec"]
    cpu, forecast = scaler["metrics"]
    assert cpu["resource"]["name"] == "cpu"
    assert forecast["external"]["metric"]["name"] == "inferflow_request_rate_forecast"
    assert forecast["external"]["target"]["averageValue"] == "500"


def test_without_an_adapter_only_the_processor_counts(plain: Objects) -> None:
    for scaler in of_kind(plain, "HorizontalPodAutoscaler").values():
        assert [metric["type"] for metric in scaler["spec"]["metrics"]] == ["Resource"]
        assert scaler["spec"]["minReplicas"] >= 2


def test_a_deployment_that_is_scaled_names_no_number(objects: Objects) -> None:
    scaled = set(of_kind(objects, "HorizontalPodAutoscaler"))
    for name, each in of_kind(objects, "Deployment").items():
        assert ("replicas" in each["spec"]) is (name not in scaled)


def test_certificates_are_mounted_and_probes_use_them() -> None:
    files, settings = VARIANTS["tls"]
    for spec in pods(rendered(*files, **settings)).values():
        (container,) = spec["containers"]
        environment = {each["name"]: each.get("value") for each in container["env"]}
        assert environment["INFERFLOW_TLS_CLIENT_AUTH"] == "required"
        assert container["readinessProbe"]["httpGet"]["scheme"] == "HTTPS"
        mounts = {each["name"]: each["mountPath"] for each in container["volumeMounts"]}
        assert environment["INFERFLOW_TLS_CERT"].startswith(mounts["tls"])
        assert environment["INFERFLOW_TLS_SERVER_NAME"] == "inferflow"


def test_whoever_reads_pages_of_roles_over_tls_is_told_so() -> None:
    files, settings = VARIANTS["tls"]
    objects = rendered(*files, **settings)
    for deployment in of_kind(objects, "Deployment").values():
        annotations = deployment["spec"]["template"]["metadata"]["annotations"]
        assert annotations["prometheus.io/scheme"] == "https"
    for service in of_kind(objects, "Service").values():
        spoken = {each["name"]: each["appProtocol"] for each in service["spec"]["ports"]}
        assert spoken["http"] == "https"
    (gateway,) = pods(objects)["gateway"]["containers"]
    environment = {each["name"]: each.get("value") for each in gateway["env"]}
    assert environment["INFERFLOW_GATEWAY_METRICS_FROM"].startswith("https://")


def test_certificates_without_a_name_in_common_are_refused() -> None:
    with pytest.raises(
        AssertionError, match=r"tls\.serverName: name what every certificate is for"
    ):
        rendered(tls__secretName="certificates")


def test_every_role_asks_its_callers_for_a_key(objects: Objects) -> None:
    for role, spec in pods(objects).items():
        names = {each["name"] for each in spec["containers"][0]["env"]}
        assert "INFERFLOW_AUTH" not in names
        assert role in ("manager", "worker") or "INFERFLOW_AUTH_MANAGER" in names, role


def test_ports_of_collectors_and_webhooks_can_be_opened_for_all() -> None:
    objects = rendered(egress__others="{4317}")
    for policy in of_kind(objects, "NetworkPolicy").values():
        assert {"ports": [{"port": 4317, "protocol": "TCP"}]} in policy["spec"]["egress"]


def test_pods_are_spread_and_their_logs_are_json(objects: Objects) -> None:
    for spec in pods(objects).values():
        keys = {each["topologyKey"] for each in spec["topologySpreadConstraints"]}
        assert keys == {"topology.kubernetes.io/zone", "kubernetes.io/hostname"}
        environment = {each["name"]: each.get("value") for each in spec["containers"][0]["env"]}
        assert environment["INFERFLOW_LOG_FORMAT"] == "json"


@pytest.mark.parametrize(
    ("values", "scheme", "annotation"),
    [
        ("values-gke.yaml", "gs://", "iam.gke.io/gcp-service-account"),
        ("values-eks.yaml", "s3://", "eks.amazonaws.com/role-arn"),
    ],
)
def test_clouds_keep_model_files_where_the_manager_may_by_its_own_account(
    values: str, scheme: str, annotation: str
) -> None:
    objects = rendered(values)
    (container,) = pods(objects)["manager"]["containers"]
    environment = {each["name"]: each.get("value") for each in container["env"]}
    assert environment["INFERFLOW_MANAGER_FILES"].startswith(scheme)
    accounts = of_kind(objects, "ServiceAccount")
    assert annotation in accounts["shop-manager"]["metadata"]["annotations"]
    assert "annotations" not in accounts["shop-worker"]["metadata"]
    assert of_kind(objects, "Ingress")["shop-gateway"]["spec"]["ingressClassName"]
    assert of_kind(objects, "Service")["shop-orchestrator"]["spec"]["type"] == "LoadBalancer"
