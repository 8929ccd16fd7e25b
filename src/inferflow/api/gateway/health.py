"""That the gateway lives, whether to send it anything, its numbers, and who it takes you for."""

from __future__ import annotations

from typing import Literal

from fastapi import APIRouter, Request
from pydantic import BaseModel, ConfigDict
from starlette.responses import PlainTextResponse, Response

from inferflow._version import __version__
from inferflow.api.gateway.door import Door, shown_key
from inferflow.api.gateway.ports import ANYBODY, Ports
from inferflow.api.http import METRICS


class Parts(BaseModel):
    """What stands behind this gateway."""

    fleet: bool
    features: bool
    logs: bool
    configs: bool
    scoring: bool
    models: bool


class Me(BaseModel):
    """Who asks, what they may, and what there is."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "auth": "off",
                "key_id": None,
                "name": None,
                "permissions": ["inference", "view"],
                "version": "0.1.0",
                "parts": dict.fromkeys(Parts.model_fields, True),
            }
        }
    )

    auth: Literal["on", "off"]
    key_id: str | None
    name: str | None
    permissions: list[str]
    version: str
    parts: Parts


def health_router(ports: Ports, door: Door) -> APIRouter:
    router = APIRouter(tags=["health"])

    @router.get("/health/live", response_class=PlainTextResponse)
    async def live() -> str:
        """That this process lives."""
        return "true"

    @router.get("/health/ready", response_class=PlainTextResponse)
    async def ready() -> Response:
        """Whether to send requests here: 200, or 503 and why not."""
        why = await _not_ready(ports)
        return PlainTextResponse(why, 503) if why else PlainTextResponse("true")

    @router.get("/metrics", response_class=PlainTextResponse)
    async def metrics() -> Response:
        """In the Prometheus text format."""
        text = ports.metrics.render() if ports.metrics is not None else b""
        return Response(text, headers={"content-type": METRICS})

    @router.get("/api/v1/me")
    async def me(request: Request) -> Me:
        """Who asks, what they may, and what stands behind this gateway."""
        caller = ANYBODY
        if not door.is_open:
            caller = await door.identify(request.scope, shown_key(request.scope))
        return Me(
            auth="off" if door.is_open else "on",
            key_id=caller.key_id,
            name=caller.name,
            permissions=sorted(caller.permissions),
            version=__version__,
            parts=_parts(ports),
        )

    return router


async def _not_ready(ports: Ports) -> str:
    if ports.leaving.is_set():
        return "draining"
    if ports.scoring is not None and not await ports.scoring.is_ready():
        return "no orchestrator answers"
    return ""


def _parts(ports: Ports) -> Parts:
    office = ports.office
    return Parts(
        fleet=office.fleet is not None,
        features=office.features is not None,
        logs=office.logs is not None,
        configs=office.configs is not None,
        scoring=ports.scoring is not None,
        models=ports.models is not None,
    )
