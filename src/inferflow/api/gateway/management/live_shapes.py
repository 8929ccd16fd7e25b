"""Live numbers as JSON."""

from __future__ import annotations

from pydantic import BaseModel, Field

from inferflow.api.gateway.management.fleet_shapes import FleetWorker

Milliseconds = float | None
"""Nothing where nothing was counted."""


class LiveOverview(BaseModel):
    rate: float = Field(description="Requests per second.")
    errors_per_s: float
    p50_ms: Milliseconds
    p95_ms: Milliseconds
    p99_ms: Milliseconds
    in_flight: int


class LiveNode(BaseModel):
    rate: float
    error_rate: float
    cache_hit_rate: float | None = Field(description="null for a step without a cache.")
    p50_ms: Milliseconds
    p99_ms: Milliseconds


class LiveConfig(BaseModel):
    rate: float
    error_rate: float
    p50_ms: Milliseconds
    p99_ms: Milliseconds
    nodes: dict[str, LiveNode]


class LiveMetrics(BaseModel):
    """The last second."""

    type: str = "metrics"
    at_ms: int
    overview: LiveOverview
    configs: dict[str, LiveConfig]
    workers: list[FleetWorker] | None = Field(
        None, description="As `/api/v1/workers` has them, where there is a fleet."
    )
