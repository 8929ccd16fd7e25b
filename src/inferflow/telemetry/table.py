"""Every metric for Prometheus, once: its name, its labels, what it means and how processes add up.

The exporter takes names from here, the reference page is printed from here, and a test compares
both with what is really sent. Roles that score nothing have tables of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Merge = Literal["sum", "max", "min"]
"""How values of several processes become one. Counters and histograms are always summed."""


@dataclass(frozen=True, slots=True)
class Metric:
    name: str
    kind: Literal["counter", "histogram", "gauge"]
    labels: tuple[str, ...]
    help: str
    merge: Merge = "sum"


STEP = ("config", "step", "kind")
CALL = ("config", "step", "service", "endpoint")

REQUESTS = Metric(
    "inferflow_requests_total",
    "counter",
    ("config", "mode", "outcome"),
    "Requests by how they ended: `ok`, who has to act (`caller`, `absent`, `busy`, `late`, "
    "`ours`), or `cancelled`.",
)
REQUEST_DURATION = Metric(
    "inferflow_request_duration_seconds",
    "histogram",
    ("config", "mode"),
    "Time from a request's arrival at its plan to its answer.",
)
REQUEST_ROWS = Metric(
    "inferflow_request_rows",
    "histogram",
    ("config", "mode"),
    "Batch size: targets, pairs or slates of a request.",
)
IN_FLIGHT = Metric(
    "inferflow_requests_in_flight", "gauge", ("config",), "Requests being answered now."
)
FORECAST = Metric(
    "inferflow_forecast_requests_per_second",
    "gauge",
    (),
    "Requests per second of all configs that this process expects in ten minutes, by their level "
    "and trend. For one server; autoscalers of many go by `inferflow_request_rate_forecast`, which "
    "Prometheus records of all of them.",
)
STEP_DURATION = Metric(
    "inferflow_step_duration_seconds",
    "histogram",
    STEP,
    "Time of one component execution; `_count` is the number of executions.",
)
STEP_ERRORS = Metric(
    "inferflow_step_errors_total",
    "counter",
    (*STEP, "type", "endpoint"),
    "Failed executions, or failed calls of an execution that survived them, by error type.",
)
STEP_FEATURES = Metric(
    "inferflow_step_features_total",
    "counter",
    STEP,
    "Features looked up: distinct keys times features per key.",
)
STEP_CONVERSION = Metric(
    "inferflow_step_conversion_seconds_total",
    "counter",
    STEP,
    "Time a model or compute step spent outside its call: columns into tensors and back.",
)
STEP_NANS = Metric(
    "inferflow_step_nans_total", "counter", STEP, "Scores that were not finite numbers."
)
CACHE_REQUESTS = Metric(
    "inferflow_cache_requests_total", "counter", STEP, "Keys looked up in the feature cache."
)
CACHE_MISSES = Metric(
    "inferflow_cache_misses_total", "counter", STEP, "Keys the feature cache did not hold."
)
CALLS = Metric(
    "inferflow_calls_total",
    "counter",
    CALL,
    "Calls to the feature store, a model or an expression, in this process or another.",
)
CALL_DURATION = Metric(
    "inferflow_call_duration_seconds",
    "histogram",
    CALL,
    "Time of those calls, all batches of one execution together.",
)
CALL_KEYS = Metric(
    "inferflow_call_keys_total", "counter", CALL, "Distinct keys the feature store was asked for."
)
SERVER_CALLS = Metric(
    "inferflow_server_call_duration_seconds",
    "histogram",
    ("method", "status"),
    "Time of calls answered by a server, by method and status code.",
)
PLAN_RELOADS = Metric(
    "inferflow_plan_reloads_total", "counter", ("config",), "Configs accepted and put to work."
)
PLAN_REJECTIONS = Metric(
    "inferflow_plan_rejections_total", "counter", ("config",), "Configs refused."
)
PLAN_PROBLEMS = Metric(
    "inferflow_plan_problems",
    "gauge",
    ("config",),
    "Problems of the version tried last; 0 when that version serves.",
    "max",
)
PLAN_INFO = Metric(
    "inferflow_plan_info", "gauge", ("config", "version"), "1 for the version that serves.", "max"
)
ARMS = Metric(
    "inferflow_experiment_requests_total",
    "counter",
    ("experiment", "config"),
    "Requests to an id that stands for several configs, by the one chosen.",
)
LOGS_SENT = Metric(
    "inferflow_log_messages_total",
    "counter",
    ("config",),
    "Inference log messages delivered: to a broker, or in a file that can be read.",
)
LOGS_FAILED = Metric(
    "inferflow_log_errors_total",
    "counter",
    ("config", "error"),
    "Inference log messages lost, by why: `queue_full`, `refused`, `expired`, `encoding_error`.",
)
CACHE_ITEMS = Metric("inferflow_cache_items", "gauge", (), "Rows in the feature cache.")
CACHE_BYTES = Metric("inferflow_cache_bytes", "gauge", (), "Memory the feature cache takes.")
CACHE_LIMIT = Metric(
    "inferflow_cache_limit_bytes", "gauge", (), "Most memory the feature cache may take."
)
CONFIG_STALE = Metric(
    "inferflow_config_stale_seconds",
    "gauge",
    (),
    "For how long etcd could not be heard, 0 while it can; with etcd only.",
    "max",
)
CONFIG_RESYNCS = Metric(
    "inferflow_config_resync_total",
    "counter",
    (),
    "Times all configs were read again because etcd had forgotten changes; with etcd only.",
)
CONFIG_DRIFTS = Metric(
    "inferflow_config_drift_total",
    "counter",
    (),
    "Times the regular reading of all configs found what no change had told; with etcd only.",
)
PROCESSES = Metric(
    "inferflow_processes", "gauge", (), "Processes that should answer calls; with several only."
)
PROCESSES_READY = Metric(
    "inferflow_processes_ready", "gauge", (), "Those that do now; with several only."
)
PROCESSES_BEHIND = Metric(
    "inferflow_processes_behind",
    "gauge",
    (),
    "Those that could not take up all that was accepted; with several only.",
)
PROCESS_RESTARTS = Metric(
    "inferflow_process_restarts_total",
    "counter",
    (),
    "Processes that ended and were started again; with several only.",
)
DRIFT = Metric(
    "inferflow_drift_psi",
    "gauge",
    ("config", "column"),
    "How far the last values of a score or feature are from the first ones (population stability "
    "index); where drift is watched only.",
    "max",
)
DRIFTING = Metric(
    "inferflow_drift_active",
    "gauge",
    ("config", "column"),
    "1 from the window that made a drift of it until one that is near again, else 0; where drift "
    "is watched only.",
    "max",
)
DRIFT_EPISODES = Metric(
    "inferflow_drift_episodes_total",
    "counter",
    ("config", "column"),
    "Times a column began to drift; where drift is watched only.",
)
DRIFT_MESSAGES = Metric(
    "inferflow_drift_webhook_messages_total",
    "counter",
    ("outcome",),
    "Messages about drift to the webhook: `ok`, or `failed` after all attempts; with one only.",
)
BUILD_INFO = Metric("inferflow_build_info", "gauge", ("version",), "1 for this version.", "max")

METRICS: tuple[Metric, ...] = (
    REQUESTS,
    REQUEST_DURATION,
    REQUEST_ROWS,
    IN_FLIGHT,
    FORECAST,
    STEP_DURATION,
    STEP_ERRORS,
    STEP_FEATURES,
    STEP_CONVERSION,
    STEP_NANS,
    CACHE_REQUESTS,
    CACHE_MISSES,
    CALLS,
    CALL_DURATION,
    CALL_KEYS,
    SERVER_CALLS,
    PLAN_RELOADS,
    PLAN_REJECTIONS,
    PLAN_PROBLEMS,
    PLAN_INFO,
    ARMS,
    LOGS_SENT,
    LOGS_FAILED,
    CACHE_ITEMS,
    CACHE_BYTES,
    CACHE_LIMIT,
    CONFIG_STALE,
    CONFIG_RESYNCS,
    CONFIG_DRIFTS,
    PROCESSES,
    PROCESSES_READY,
    PROCESSES_BEHIND,
    PROCESS_RESTARTS,
    DRIFT,
    DRIFTING,
    DRIFT_EPISODES,
    DRIFT_MESSAGES,
    BUILD_INFO,
)

PROCESS_MERGE: dict[str, Merge] = {
    "process_start_time_seconds": "min",
    "process_max_fds": "max",
    "python_info": "max",
}
"""Gauges that come with the process; any other is summed."""
