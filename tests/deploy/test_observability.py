"""Dashboards and alerts speak of metrics there are, with labels they have, and work."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from inferflow.telemetry.compute_table import COMPUTE_METRICS
from inferflow.telemetry.door_table import DOOR_METRICS
from inferflow.telemetry.feature_table import FEATURE_METRICS
from inferflow.telemetry.gateway_table import GATEWAY_METRICS
from inferflow.telemetry.manager_table import MANAGER_METRICS
from inferflow.telemetry.table import METRICS
from inferflow.telemetry.worker_table import WORKER_METRICS

from .files import CHART, DEPLOY, REPOSITORY, compose, tool
from .promql import Named, family, grouped, named
from .test_compose import SECRETS

HOME = DEPLOY / "observability"
RULES = HOME / "rules" / "inferflow.yaml"
GROUPS: list[dict[str, Any]] = yaml.safe_load(RULES.read_text("utf-8"))["groups"]
EVERY = [rule for group in GROUPS for rule in group["rules"]]
ALERTS = {rule["alert"]: rule for rule in EVERY if "alert" in rule}
RECORDED = {rule["record"]: rule["expr"] for rule in EVERY if "record" in rule}
FIRING: dict[str, dict[str, Any]] = yaml.safe_load(
    (Path(__file__).parent / "alerts.yaml").read_text("utf-8")
)
LABELS = {
    metric.name: frozenset(metric.labels)
    for table in (
        *(METRICS, WORKER_METRICS, MANAGER_METRICS),
        *(COMPUTE_METRICS, FEATURE_METRICS, GATEWAY_METRICS, DOOR_METRICS),
    )
    for metric in table
}
ADDED = frozenset({"job", "instance", "le"})
"""By Prometheus, and by histograms."""
OF_EVERY_PROCESS = frozenset(
    {
        *("process_cpu_seconds_total", "process_resident_memory_bytes"),
        *("process_open_fds", "process_max_fds"),
    }
)
"""Shown by the client library; without labels."""


def dashboards() -> dict[str, Any]:
    return {
        path.name: json.loads(path.read_text("utf-8"))
        for path in sorted((HOME / "grafana/dashboards").glob("*.json"))
    }


def dashboard_queries() -> Iterator[tuple[str, str]]:
    """(query, legend) of every panel."""
    for board in dashboards().values():
        for panel in board["panels"]:
            for target in panel.get("targets", ()):
                yield target["expr"], target["legendFormat"]


def expressions() -> list[str]:
    return [rule["expr"] for rule in EVERY] + [query for query, _ in dashboard_queries()]


def labels_of(metric: str) -> frozenset[str]:
    """Of a metric that is exposed, or recorded from some that are."""
    if metric in RECORDED:
        return grouped(RECORDED[metric])
    if metric == "up" or metric in OF_EVERY_PROCESS:
        return frozenset()
    return LABELS[metric if metric in LABELS else family(metric)]


@pytest.mark.parametrize("expression", expressions())
def test_every_metric_exists_and_has_the_labels_it_is_asked_for(expression: str) -> None:
    found = named(expression)
    assert found
    for each in found:
        assert each.labels <= labels_of(each.metric) | ADDED, each
    everything = frozenset[str]().union(*(labels_of(each.metric) for each in found))
    assert grouped(expression) <= everything | ADDED


def test_a_legend_names_labels_that_are_left() -> None:
    for query, legend in dashboard_queries():
        selected = named(query)
        is_bare = len(selected) == 1 and query.partition("{")[0] == selected[0].metric
        left = labels_of(selected[0].metric) | ADDED if is_bare else grouped(query)
        assert set(re.findall(r"\{\{(\w+)\}\}", legend)) <= left, (query, legend)


def test_a_legend_tells_apart_what_is_summed_by() -> None:
    """Or two lines of one panel would look alike."""
    for query, legend in dashboard_queries():
        assert grouped(query) - {"le"} <= set(re.findall(r"\{\{(\w+)\}\}", legend)), query


def test_a_panel_has_a_unit_and_lines_that_differ() -> None:
    for board in dashboards().values():
        for panel in board["panels"]:
            if panel["type"] == "row":
                continue
            assert panel["fieldConfig"]["defaults"]["unit"]
            legends = [target["legendFormat"] for target in panel["targets"]]
            assert len(set(legends)) == len(legends), panel["title"]


def test_titles_of_a_row_differ() -> None:
    for board in dashboards().values():
        seen: set[str] = set()
        for panel in board["panels"]:
            if panel["type"] == "row":
                seen = set()
                continue
            assert panel["title"] not in seen, panel["title"]
            seen.add(panel["title"])


def test_every_metric_there_is_is_on_a_dashboard() -> None:
    shown = {family(each.metric) for query, _ in dashboard_queries() for each in named(query)}
    shown |= {each.metric for query, _ in dashboard_queries() for each in named(query)}
    assert set(LABELS) - shown == set()


def panels() -> Iterator[dict[str, Any]]:
    for board in dashboards().values():
        yield from (panel for panel in board["panels"] if panel["type"] != "row")


def test_panels_lead_to_the_runbooks_of_the_alerts_that_watch_them() -> None:
    linked = {link["url"].partition("#")[2] for panel in panels() for link in panel["links"]}
    assert linked == {name.lower() for name in ALERTS}
    for board in dashboards().values():
        assert "runbooks" in {each["name"] for each in board["templating"]["list"]}


def test_an_alert_of_a_panel_watches_something_it_shows() -> None:
    made_of = {"inferflow_drift_active": {"inferflow_drift_psi"}}

    def sources(expression: str) -> set[str]:
        found = {each.metric for each in named(expression)}
        recorded = {m for name in found & set(RECORDED) for m in sources(RECORDED[name])}
        families = {family(metric) for metric in found | recorded}
        return families.union(*(made_of.get(each, set()) for each in families))

    by_slug = {name.lower(): rule for name, rule in ALERTS.items()}
    for panel in panels():
        shown = {metric for target in panel["targets"] for metric in sources(target["expr"])}
        for link in panel["links"]:
            rule = by_slug[link["url"].partition("#")[2]]
            assert sources(rule["expr"]) & shown, (panel["title"], rule["alert"])


def test_the_dashboards_are_what_their_script_writes() -> None:
    made = runpy.run_path(str(HOME / "dashboards.py"))["written"]()
    there = {path.name: path.read_text("utf-8") for path in (HOME / "grafana/dashboards").iterdir()}
    assert there == made


def test_a_dashboard_lays_every_panel_beside_the_others() -> None:
    for name, board in dashboards().items():
        taken: set[tuple[int, int]] = set()
        for panel in board["panels"]:
            place = panel["gridPos"]
            cells = {
                (x, y)
                for x in range(place["x"], place["x"] + place["w"])
                for y in range(place["y"], place["y"] + place["h"])
            }
            assert not cells & taken, (name, panel["title"])
            assert max(x for x, _ in cells) < 24
            taken |= cells


def test_what_the_issue_of_dashboards_is_for_is_on_them() -> None:
    """Rate, errors and duration per config and component; use of workers; fleet; reloads; drops;
    cache."""
    shown = {family(each.metric) for query, _ in dashboard_queries() for each in named(query)}
    assert {
        *("inferflow_requests_total", "inferflow_request_duration_seconds"),
        *("inferflow_step_errors_total", "inferflow_step_duration_seconds"),
        *("inferflow_fleet_worker_cpu_ratio", "inferflow_fleet_worker_memory_bytes"),
        *("inferflow_fleet_worker_queue_depth", "inferflow_fleet_workers"),
        *("inferflow_plan_reloads_total", "inferflow_plan_rejections_total"),
        *("inferflow_log_errors_total", "inferflow_cache_misses_total"),
        *("inferflow_drift_psi", "inferflow_refused_calls_total"),
    } <= shown


def test_every_alert_says_how_urgent_it_is_and_has_a_runbook() -> None:
    runbooks = (REPOSITORY / "docs/operate/runbooks.md").read_text("utf-8")
    headings = {line[3:].strip() for line in runbooks.splitlines() if line.startswith("## ")}
    for rule in ALERTS.values():
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"]["summary"]
        assert rule["annotations"]["runbook"] == f"operate/runbooks.html#{rule['alert'].lower()}"
    assert headings == set(ALERTS)


def test_the_forecast_is_what_the_chart_scales_on() -> None:
    values = yaml.safe_load((CHART / "values.yaml").read_text("utf-8"))
    assert values["orchestrator"]["autoscaling"]["forecast"]["metric"] in RECORDED


def test_prometheus_asks_every_role_of_the_stack() -> None:
    written = yaml.safe_load((HOME / "prometheus.yaml").read_text("utf-8"))
    asked = {
        target
        for job in written["scrape_configs"]
        for config in job["static_configs"]
        for target in config["targets"]
    }
    checked = {
        f"{name}:{service['healthcheck']['test'][-1].rpartition(':')[2]}"
        for name, service in compose(SECRETS)["services"].items()
        if service["image"].startswith("inferflow:") and "profiles" not in service
    }
    assert asked == checked
    assert all(job["job_name"].startswith("inferflow-") for job in written["scrape_configs"])


def test_what_calls_for_retraining_reaches_those_who_retrain() -> None:
    written = yaml.safe_load((HOME / "alertmanager.yaml").read_text("utf-8"))
    retraining, people = written["route"]["routes"]
    assert retraining["matchers"] == ['action="retrain"']
    assert retraining["continue"] is True  # people are told, too
    assert people["receiver"] == written["route"]["receiver"]
    asked = {rule["labels"]["action"] for rule in ALERTS.values() if "action" in rule["labels"]}
    assert asked == {"retrain"}
    addresses = {
        receiver["name"]: receiver["webhook_configs"][0]["url_file"]
        for receiver in written["receivers"]
    }
    assert set(addresses) == {retraining["receiver"], people["receiver"]}
    stack = compose(SECRETS)["services"]["alertmanager"]
    assert set(addresses.values()) == {each["target"] for each in stack["configs"]}


# --- what Prometheus itself thinks of them --------------------------------------------------------


def promtool(*arguments: str, folder: Path) -> None:
    done = subprocess.run(
        [tool("promtool"), *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_query_can_be_read(tmp_path: Path) -> None:
    rules = [
        {"record": f"query:{number}", "expr": query.replace("$__rate_interval", "5m")}
        for number, query in enumerate(expressions())
    ]
    file = tmp_path / "queries.yaml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": rules}]}))
    promtool("check", "rules", str(file), str(RULES), folder=tmp_path)


def test_every_alert_fires_when_it_should_and_alone(tmp_path: Path) -> None:
    assert set(FIRING) == set(ALERTS)
    tests = [firing_test(name, **facts) for name, facts in FIRING.items()]
    file, rules = tmp_path / "tests.yaml", tmp_path / "rules.yaml"
    rules.write_text(yaml.safe_dump({"groups": [without_words(group) for group in GROUPS]}))
    asked = {"rule_files": [str(rules)], "evaluation_interval": "5m", "tests": tests}
    file.write_text(yaml.safe_dump(asked))
    promtool("test", "rules", str(file), folder=tmp_path)


def without_words(group: dict[str, Any]) -> dict[str, Any]:
    """Rules as they decide, without what they say then."""
    rules = [{key: rule[key] for key in rule if key != "annotations"} for rule in group["rules"]]
    return {**group, "rules": rules}


def firing_test(
    name: str, series: list[str], labels: dict[str, str], minutes: int = 25
) -> dict[str, Any]:
    return {
        "name": name,
        "interval": "1m",
        "input_series": [
            {"series": line.partition("}")[0] + "}", "values": line.partition("}")[2].strip()}
            if "}" in line
            else {"series": line.split()[0], "values": line.split()[1]}
            for line in series
        ],
        "alert_rule_test": [
            {
                "eval_time": f"{minutes}m",
                "alertname": alert,
                "exp_alerts": [fired(ALERTS[name], labels)] if alert == name else [],
            }
            for alert in ALERTS
            if alert == name or not together(alert, name)
        ],
    }


def together(one: str, other: str) -> bool:
    """Alerts that two views of one fault set off."""
    return {one, other} in ({"InferflowFailing", "InferflowOverloaded"},)


def fired(rule: dict[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    return {"exp_labels": {**rule["labels"], **labels}}


def test_the_forecast_follows_a_rise(tmp_path: Path) -> None:
    """Requests that rise by one per second each minute: ten minutes on there are ten more."""
    rising = " ".join(str(30 * minute * minute) for minute in range(61))
    test = {
        "interval": "1m",
        "input_series": [
            {
                "series": 'inferflow_requests_total{config="c", mode="targets", outcome="ok"}',
                "values": rising,
            }
        ],
        "promql_expr_test": [
            {
                "eval_time": "60m",
                "expr": "round(inferflow_request_rate_forecast)",
                "exp_samples": [{"labels": "{}", "value": 68}],
            },
            {
                "eval_time": "60m",
                "expr": "round(inferflow:request_rate_all:5m)",
                "exp_samples": [{"labels": "{}", "value": 58}],
            },
        ],
    }
    file = tmp_path / "forecast.yaml"
    file.write_text(
        yaml.safe_dump({"rule_files": [str(RULES)], "evaluation_interval": "1m", "tests": [test]})
    )
    promtool("test", "rules", str(file), folder=tmp_path)


# --- the reader of queries ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("expression", "metrics", "groups"),
    [
        ("up == 0", {"up": set()}, set()),
        ('a{b="c{d}", e!~"f"}', {"a": {"b", "e"}}, set()),
        ("sum by (x, le) (rate(a_bucket{y=~'z'}[5m]))", {"a_bucket": {"y"}}, {"x", "le"}),
        ("a / on (k) group_left (l) b offset 5m", {"a": set(), "b": set()}, {"k", "l"}),
        ("max(a:b:5m) > 2 and c unless d", {"a:b:5m": set(), "c": set(), "d": set()}, set()),
        ('label_replace(a, "by", "x", "", "") or b', {"a": set(), "b": set()}, set()),
    ],
)
def test_a_query_is_read_as_it_is_meant(
    expression: str, metrics: dict[str, set[str]], groups: set[str]
) -> None:
    expression = expression.replace("'", '"')
    assert {each.metric: set(each.labels) for each in named(expression)} == metrics
    assert grouped(expression) == groups


_NAME = st.from_regex(r"m_[a-z]{1,6}", fullmatch=True)


@given(_NAME, st.lists(_NAME, max_size=3, unique=True), st.text('abc{}(),="', max_size=8))
def test_text_in_quotes_never_becomes_a_name(metric: str, labels: list[str], text: str) -> None:
    matchers = ", ".join(f"{label}={json.dumps(text)}" for label in labels)
    assert named(f"sum(rate({metric}{{{matchers}}}[5m]))") == [Named(metric, frozenset(labels))]
