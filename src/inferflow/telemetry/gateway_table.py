"""Every metric of a gateway, once; see `table` for those of the other roles."""

from __future__ import annotations

from inferflow.telemetry.table import Metric

REQUESTS = Metric(
    "inferflow_http_requests_total",
    "counter",
    ("method", "route", "status"),
    "Requests by their route, as it is written in the HTTP API, and the status of the answer. "
    "`other` stands for all that no route is for; status 0: the caller left first.",
)
REQUEST_DURATION = Metric(
    "inferflow_http_request_duration_seconds",
    "histogram",
    ("method", "route"),
    "Time from a request's head to the end of its answer.",
)

GATEWAY_METRICS: tuple[Metric, ...] = (REQUESTS, REQUEST_DURATION)
