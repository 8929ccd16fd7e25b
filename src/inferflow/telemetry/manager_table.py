"""Every metric of a manager, once: its own, and what its workers tell it.

Whatever a worker tells is known to every manager of a fleet, so one of them is enough to ask.
"""

from __future__ import annotations

from inferflow.telemetry.table import Metric

MODEL = ("worker", "model", "version")

CALLS = Metric(
    "inferflow_manager_calls_total",
    "counter",
    ("method", "outcome"),
    "Calls by how they ended: `ok`, who has to act (`caller`, `absent`, `busy`, `late`, `ours`), "
    "or `cancelled`.",
)
CALL_DURATION = Metric(
    "inferflow_manager_call_duration_seconds", "histogram", ("method",), "Time of a call."
)
VERSIONS = Metric(
    "inferflow_manager_model_versions", "gauge", ("stage",), "Versions of models by stage.", "max"
)
PROBLEMS = Metric(
    "inferflow_manager_model_problems",
    "gauge",
    (),
    "Versions that cannot be served, such as ones whose files are corrupt.",
    "max",
)
KEYS = Metric("inferflow_manager_api_keys", "gauge", (), "API keys that are accepted.", "max")
LEADS = Metric(
    "inferflow_manager_has_duties",
    "gauge",
    (),
    "1 for the manager that cleans up for all of them.",
)
FAILED_TICKS = Metric(
    "inferflow_manager_failed_ticks_total",
    "counter",
    (),
    "Heartbeat periods in which the database could not be read or written.",
)

WORKERS = Metric("inferflow_fleet_workers", "gauge", ("state",), "Workers by state.", "max")
WORKER_STATE = Metric(
    "inferflow_fleet_worker_state",
    "gauge",
    ("worker", "state"),
    "1 for the state a worker is in: `online`, `suspect`, `offline` or `draining`.",
    "max",
)
WORKER_CPU = Metric(
    "inferflow_fleet_worker_cpu_ratio",
    "gauge",
    ("worker",),
    "Processor time a worker uses; 1 is one core.",
    "max",
)
WORKER_MEMORY = Metric(
    "inferflow_fleet_worker_memory_bytes", "gauge", ("worker",), "Memory of its process.", "max"
)
WORKER_IN_FLIGHT = Metric(
    "inferflow_fleet_worker_requests_in_flight",
    "gauge",
    ("worker",),
    "Requests it works on now.",
    "max",
)
WORKER_QUEUED = Metric(
    "inferflow_fleet_worker_queue_depth", "gauge", ("worker",), "Requests waiting there.", "max"
)
WORKER_REQUESTS = Metric(
    "inferflow_fleet_worker_requests_total",
    "counter",
    ("worker",),
    "Requests since it started.",
)
WORKER_FAILURES = Metric(
    "inferflow_fleet_worker_failures_total",
    "counter",
    ("worker",),
    "Requests since it started that were not answered.",
)
WORKER_LATENCY = Metric(
    "inferflow_fleet_worker_latency_seconds",
    "gauge",
    ("worker", "quantile"),
    "Time of its recent requests: quantiles 0.5, 0.95 and 0.99.",
    "max",
)
DEVICE_USED = Metric(
    "inferflow_fleet_device_used_bytes",
    "gauge",
    ("worker", "device"),
    "Memory of a worker's GPU in use.",
    "max",
)
DEVICE_BUSY = Metric(
    "inferflow_fleet_device_busy_ratio",
    "gauge",
    ("worker", "device"),
    "Share of time a worker's GPU computed lately, 0 to 1.",
    "max",
)
MODEL_REQUESTS = Metric(
    "inferflow_fleet_model_requests_total",
    "counter",
    MODEL,
    "Requests per version of a model since the worker started.",
)
MODEL_FAILURES = Metric(
    "inferflow_fleet_model_failures_total",
    "counter",
    MODEL,
    "Those that were not answered.",
)
MODEL_LATENCY = Metric(
    "inferflow_fleet_model_latency_seconds",
    "gauge",
    (*MODEL, "quantile"),
    "Time of recent requests: quantiles 0.5, 0.95 and 0.99.",
    "max",
)
MODEL_MEMORY = Metric(
    "inferflow_fleet_model_memory_bytes", "gauge", MODEL, "Memory it takes there.", "max"
)
KEY_REQUESTS = Metric(
    "inferflow_fleet_key_requests_total",
    "counter",
    ("key",),
    "Requests to workers by the API key behind them, as told to this manager.",
)
KEY_FAILURES = Metric(
    "inferflow_fleet_key_failures_total", "counter", ("key",), "Those that were not answered."
)

MANAGER_METRICS: tuple[Metric, ...] = (
    CALLS,
    CALL_DURATION,
    VERSIONS,
    PROBLEMS,
    KEYS,
    LEADS,
    FAILED_TICKS,
    WORKERS,
    WORKER_STATE,
    WORKER_CPU,
    WORKER_MEMORY,
    WORKER_IN_FLIGHT,
    WORKER_QUEUED,
    WORKER_REQUESTS,
    WORKER_FAILURES,
    WORKER_LATENCY,
    DEVICE_USED,
    DEVICE_BUSY,
    MODEL_REQUESTS,
    MODEL_FAILURES,
    MODEL_LATENCY,
    MODEL_MEMORY,
    KEY_REQUESTS,
    KEY_FAILURES,
)
