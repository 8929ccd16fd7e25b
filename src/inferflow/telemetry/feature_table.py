"""Every metric of a feature store, once; see `table` for those of the other roles."""

from __future__ import annotations

from inferflow.telemetry.table import Metric

REQUESTS = Metric(
    "inferflow_feature_requests_total",
    "counter",
    ("method", "entity", "outcome"),
    "Calls by how they ended: `ok`, who has to act (`caller`, `absent`, `busy`, `late`, `ours`), "
    "or `cancelled`.",
)
CALLER_REQUESTS = Metric(
    "inferflow_feature_caller_requests_total",
    "counter",
    ("caller", "method", "outcome"),
    "The same by who asked; `anybody` where nobody has to say so, empty for those turned away.",
)
REQUEST_DURATION = Metric(
    "inferflow_feature_request_duration_seconds",
    "histogram",
    ("method", "entity"),
    "Time from a call's arrival to its answer.",
)
REQUEST_KEYS = Metric(
    "inferflow_feature_request_keys",
    "histogram",
    ("method", "entity"),
    "Keys of a query, or rows written.",
)
ROWS = Metric(
    "inferflow_feature_rows_total",
    "counter",
    ("entity", "group", "state"),
    "Distinct keys looked up, by what was found: `real`, `missing` or `expired`.",
)

FEATURE_METRICS: tuple[Metric, ...] = (
    REQUESTS,
    CALLER_REQUESTS,
    REQUEST_DURATION,
    REQUEST_KEYS,
    ROWS,
)
