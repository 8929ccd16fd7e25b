"""Every metric of a compute service, once; see `table` for those of the other roles."""

from __future__ import annotations

from inferflow.telemetry.statsd_table import StatsdMetric
from inferflow.telemetry.table import Metric

REQUESTS = Metric(
    "inferflow_compute_requests_total",
    "counter",
    ("compute_id", "caller", "outcome"),
    "Compute calls by how they ended: `ok`, `error` (the answer says why there are no scores), who "
    "has to act (`caller`, `busy`, `ours`), or `cancelled`.",
)
REQUEST_DURATION = Metric(
    "inferflow_compute_request_duration_seconds",
    "histogram",
    ("compute_id",),
    "Time from a call's arrival to its answer.",
)
REQUEST_ROWS = Metric(
    "inferflow_compute_request_rows", "histogram", ("compute_id",), "Rows of a call."
)
INVALID_OPERATIONS = Metric(
    "inferflow_compute_invalid_operations_total",
    "counter",
    ("compute_id", "error_type"),
    "Calls that failed because an operation had no answer for a row, such as a zero divisor.",
)
EXPRESSIONS = Metric(
    "inferflow_compute_expressions", "gauge", (), "Expressions that can be asked for."
)
PROBLEMS = Metric(
    "inferflow_compute_expression_problems",
    "gauge",
    (),
    "Expressions whose newest form was refused.",
)

COMPUTE_METRICS: tuple[Metric, ...] = (
    REQUESTS,
    REQUEST_DURATION,
    REQUEST_ROWS,
    INVALID_OPERATIONS,
    EXPRESSIONS,
    PROBLEMS,
)

ERROR_TYPES = {
    "division": "division_by_zero",
    "log": "log_non_positive",
    "and": "and_requires_boolean",
    "or": "or_requires_boolean",
}
"""Operation → what dashboards know its failure by; any other goes by its own name."""

_CALL = ("compute_id", "caller")

COMPUTE_STATSD: dict[str, StatsdMetric] = {
    metric.name: metric
    for metric in (
        StatsdMetric("numerix.computation.request.total", "count", _CALL, "Compute calls."),
        StatsdMetric("numerix.computation.request.latency", "timing", _CALL, "Time of a call."),
        StatsdMetric(
            "numerix.computation.request.error",
            "count",
            _CALL,
            "Calls without scores, for any reason.",
        ),
        StatsdMetric(
            "numerix.computation.request.invalid_operation",
            "count",
            (*_CALL, "error_type"),
            "Calls in which an operation had no answer for a row.",
        ),
    )
}
