"""Every metric of a worker, once; see `table` for those of the other roles."""

from __future__ import annotations

from inferflow.telemetry.table import Metric

MODEL = ("model", "version")

REQUESTS = Metric(
    "inferflow_worker_requests_total",
    "counter",
    (*MODEL, "outcome"),
    "Inference requests by how they ended: `ok`, who has to act (`caller`, `absent`, `busy`, "
    "`late`, `ours`), or `cancelled`.",
)
KEY_REQUESTS = Metric(
    "inferflow_worker_key_requests_total",
    "counter",
    ("key", "model", "outcome"),
    "The same by the API key that asked, where callers have to show one.",
)
REQUEST_DURATION = Metric(
    "inferflow_worker_request_duration_seconds",
    "histogram",
    MODEL,
    "Time from a request's arrival to its answer.",
)
REQUEST_ROWS = Metric(
    "inferflow_worker_request_rows", "histogram", MODEL, "Rows of a request's tensors."
)
RUN_DURATION = Metric(
    "inferflow_worker_run_duration_seconds", "histogram", MODEL, "Time of one run of a model."
)
BATCH_ROWS = Metric("inferflow_worker_batch_rows", "histogram", MODEL, "Rows of one run.")
BATCH_REQUESTS = Metric(
    "inferflow_worker_batch_requests", "histogram", MODEL, "Requests that shared one run."
)
RELEASES = Metric(
    "inferflow_worker_batches_total",
    "counter",
    (*MODEL, "reason"),
    "Runs by why they were started: `full`, `preferred`, `delay`, `deadline`, `drain`, `alone`,"
    " `sample`.",
)
QUEUE_DURATION = Metric(
    "inferflow_worker_queue_duration_seconds",
    "histogram",
    MODEL,
    "Time requests waited for their run. Those that ran at once are not counted.",
)
QUEUE_DEPTH = Metric("inferflow_worker_queue_depth", "gauge", MODEL, "Requests waiting now.")
IN_FLIGHT = Metric(
    "inferflow_worker_requests_in_flight", "gauge", MODEL, "Requests waiting or running now."
)
LOADS = Metric(
    "inferflow_worker_model_loads_total",
    "counter",
    (*MODEL, "outcome"),
    "Loads of a model: `ok` or `failed`.",
)
LOAD_DURATION = Metric(
    "inferflow_worker_model_load_seconds", "histogram", MODEL, "Time a load took."
)
UNLOADS = Metric(
    "inferflow_worker_model_unloads_total",
    "counter",
    (*MODEL, "why"),
    "Unloads of a model: `idle`, `evicted`, `asked`, `replaced` or `closing`.",
)
MEMORY = Metric(
    "inferflow_worker_model_memory_bytes",
    "gauge",
    MODEL,
    "Memory a model takes, as far as it can be known; 0 when it is not in memory.",
)
AVAILABLE = Metric(
    "inferflow_worker_model_available",
    "gauge",
    MODEL,
    "1 when requests are answered, 0 when the model failed to load or was unloaded by hand.",
    "min",
)
DEVICE_MEMORY = Metric(
    "inferflow_worker_device_memory_bytes", "gauge", ("device", "name"), "Memory of a GPU.", "max"
)
DEVICE_USED = Metric(
    "inferflow_worker_device_used_bytes",
    "gauge",
    ("device", "name"),
    "Memory of a GPU in use, by anybody.",
    "max",
)
DEVICE_BUSY = Metric(
    "inferflow_worker_device_busy_ratio",
    "gauge",
    ("device", "name"),
    "Share of time a GPU computed lately, 0 to 1.",
    "max",
)

WORKER_METRICS: tuple[Metric, ...] = (
    REQUESTS,
    KEY_REQUESTS,
    REQUEST_DURATION,
    REQUEST_ROWS,
    RUN_DURATION,
    BATCH_ROWS,
    BATCH_REQUESTS,
    RELEASES,
    QUEUE_DURATION,
    QUEUE_DEPTH,
    IN_FLIGHT,
    LOADS,
    LOAD_DURATION,
    UNLOADS,
    MEMORY,
    AVAILABLE,
    DEVICE_MEMORY,
    DEVICE_USED,
    DEVICE_BUSY,
)
