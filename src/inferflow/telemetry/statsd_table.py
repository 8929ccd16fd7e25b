"""Every metric for StatsD, once: the names and tags that dashboards know already.

The reference page is printed from here, and a test compares it with what is really sent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class StatsdMetric:
    name: str
    kind: Literal["count", "timing", "gauge"]
    tags: tuple[str, ...]
    help: str
    also: str = ""
    """Another name the same metric is known by; this one is not sent."""


_ID = ("model-id",)
_MODE = ("model-id", "inference-mode")
_STEP = ("model-id", "component-name")
_CALL = (*_STEP, "ext-service", "endpoint")

STATSD: dict[str, StatsdMetric] = {
    metric.name: metric
    for metric in (
        StatsdMetric(
            "inferflow.retrievemodelscore.request.total",
            "count",
            _ID,
            "RetrieveModelScore requests.",
        ),
        StatsdMetric(
            "inferflow.retrievemodelscore.latency",
            "timing",
            _ID,
            "Time of a RetrieveModelScore request.",
            also="inferflow.retrievemodelscore.request.latency",
        ),
        StatsdMetric(
            "inferflow.retrievemodelscore.batch.size",
            "count",
            _ID,
            "Targets asked about.",
            also="inferflow.retrievemodelscore.request.batch.size",
        ),
        StatsdMetric("predict.infer.request.total", "count", _MODE, "Predict requests."),
        StatsdMetric(
            "predict.infer.latency",
            "timing",
            _MODE,
            "Time of a Predict request.",
            also="predict.infer.request.latency",
        ),
        StatsdMetric(
            "predict.infer.request.batch.size",
            "count",
            _MODE,
            "Targets, pairs or slates asked about.",
        ),
        StatsdMetric("inferflow.component.execution.total", "count", _STEP, "Executions."),
        StatsdMetric(
            "inferflow.component.execution.latency", "timing", _STEP, "Time of one execution."
        ),
        StatsdMetric(
            "inferflow.component.execution.error",
            "count",
            (*_STEP, "error-type", "ext-service", "endpoint"),
            "Failed executions or calls.",
        ),
        StatsdMetric(
            "inferflow.component.feature.count",
            "count",
            _STEP,
            "Distinct keys times features per key.",
        ),
        StatsdMetric("inferflow.external.api.request.total", "count", _CALL, "Calls."),
        StatsdMetric(
            "inferflow.external.api.request.batch",
            "count",
            _CALL,
            "Distinct keys the feature store was asked for.",
        ),
        StatsdMetric(
            "inferflow.external.api.latency",
            "timing",
            _CALL,
            "Time of the calls of one execution.",
            also="inferflow.external.api.request.latency",
        ),
        StatsdMetric(
            "inferflow.component.inmemorycache.request.total",
            "count",
            _STEP,
            "Keys looked up in the feature cache.",
        ),
        StatsdMetric(
            "inferflow.component.inmemorycache.miss",
            "count",
            _STEP,
            "Keys it did not hold.",
            also="inferflow.component.inmemorycache.request.miss.total",
        ),
        StatsdMetric(
            "inferflow.component.predator.execution.latency",
            "timing",
            _STEP,
            "Time of a model's calls.",
        ),
        StatsdMetric(
            "inferflow.datatype.conversion.execution.latency",
            "timing",
            _STEP,
            "Time of a model or compute step outside its calls.",
        ),
        StatsdMetric(
            "inferflow.router.api.request.total",
            "count",
            ("api", "status"),
            "Calls a server answered.",
        ),
        StatsdMetric(
            "inferflow.router.api.request.latency",
            "timing",
            ("api", "status"),
            "Time of a call a server answered.",
        ),
        StatsdMetric(
            "inferflow.logging.kafka_sent",
            "count",
            _ID,
            "Inference log messages delivered: to a broker, or in a file that can be read.",
        ),
        StatsdMetric(
            "inferflow.logging.error",
            "count",
            (*_ID, "error"),
            "Inference log messages lost, by why, as in Prometheus.",
        ),
        StatsdMetric("inferflow_config_schema_parsing_error", "count", _ID, "Configs refused."),
        StatsdMetric("inferflow.plan.reload.total", "count", _ID, "Configs accepted."),
        StatsdMetric(
            "inferflow.experiment.request.total",
            "count",
            ("experiment", *_ID),
            "Requests by the config chosen for them.",
        ),
        StatsdMetric(
            "in_memory_cache_hit_rate",
            "gauge",
            ("cache_name",),
            "Share of keys found in the feature cache since the last packet, 0 to 1.",
        ),
        StatsdMetric(
            "in_memory_cache_item_count", "gauge", ("cache_name",), "Rows in the feature cache."
        ),
    )
}
