"""Metrics of the door of every role: whom it turned away, and how long its certificates last."""

from __future__ import annotations

from inferflow.telemetry.table import Metric

REFUSED = Metric(
    "inferflow_refused_calls_total",
    "counter",
    ("role", "reason"),
    "Calls turned away: `unauthenticated` (no proof of who calls, or a wrong one), `permission` "
    "(known, and may not do this), `rate` (more often than allowed), `unchecked` (whose key it is "
    "could not be found out).",
)
CERTIFICATE_EXPIRY = Metric(
    "inferflow_certificate_expiry_seconds",
    "gauge",
    ("role", "file"),
    "Seconds until the first certificate expires of those in use, below 0 after: `cert`, the own "
    "one with those between it and its authority's, and `ca`, the authorities; with TLS only.",
    "min",
)

DOOR_METRICS: tuple[Metric, ...] = (REFUSED, CERTIFICATE_EXPIRY)
