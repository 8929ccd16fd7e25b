"""The services of a manager. Who may make which call is said in `api.rules`."""

from __future__ import annotations

DISCOVERY = "inferflow.serving.v1.Discovery"
FLEET = "inferflow.serving.v1.Fleet"
REGISTRY = "inferflow.serving.v1.Registry"
SERVICES = (DISCOVERY, FLEET, REGISTRY)
