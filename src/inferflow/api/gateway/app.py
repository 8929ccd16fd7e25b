"""The gateway as one ASGI application.

Routers are mounted flat, each route behind its rule; around them stand, from the outside in, the
request's span where there are any, its id and its count, where it may come from, and how large and
slow it may be.
"""

from __future__ import annotations

import time
from collections.abc import Iterable

from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import HTMLResponse

from inferflow._version import __version__
from inferflow.api.gateway.describing import describe
from inferflow.api.gateway.docs_page import docs_page
from inferflow.api.gateway.door import Door
from inferflow.api.gateway.failing import answer_errors
from inferflow.api.gateway.health import health_router
from inferflow.api.gateway.management.routes import management_routers
from inferflow.api.gateway.oip.routes import oip_router
from inferflow.api.gateway.pages import Pages
from inferflow.api.gateway.ports import Ports
from inferflow.api.gateway.rates import Rates
from inferflow.api.gateway.scoring import scoring_router
from inferflow.api.gateway.shielding import BodyShield, FrontDoor, Reception
from inferflow.api.gateway.socket_shield import SocketShield
from inferflow.api.gateway.tracing import TracedRequests
from inferflow.tracing import tracer_in_use

TITLE = "Inferflow"
_EXPOSED = ["x-request-id", "retry-after", "inference-header-content-length"]


def make_app(ports: Ports) -> FastAPI:
    app = FastAPI(
        title=TITLE,
        version=__version__,
        summary="Rank, recommend and score from a config.",
        docs_url=None,
        redoc_url=None,
        generate_unique_id_function=_operation_id,
        # Spans of ours are made elsewhere, and say nothing of what is inside requests.
        telemetry={"tracing": False, "metrics": False, "logs": False, "operation_spans": False},
    )
    door = Door(ports.gate, Rates(ports.bounds.rate, time.time))
    _mount(app, door, [*_routers(ports, door), _docs_router(app)])
    app.router.default = Pages()
    answer_errors(app)
    describe(app)
    app.add_middleware(BodyShield, bounds=ports.bounds)
    app.add_middleware(SocketShield, bounds=ports.bounds)
    if ports.bounds.origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=ports.bounds.origins,
            allow_methods=["GET", "POST", "PUT", "DELETE"],
            allow_headers=["*"],
            expose_headers=_EXPOSED,
        )
    app.add_middleware(FrontDoor, bounds=ports.bounds, gate=ports.gate)
    app.add_middleware(Reception, metrics=ports.metrics)
    tracer = tracer_in_use()
    if tracer is not None:
        app.add_middleware(TracedRequests, tracer=tracer)
    return app


def _routers(ports: Ports, door: Door) -> Iterable[APIRouter]:
    yield health_router(ports, door)
    yield scoring_router(ports)
    yield oip_router(ports)
    yield from management_routers(ports.office, ports.bounds)


def _mount(app: FastAPI, door: Door, routers: Iterable[APIRouter]) -> None:
    """Flat, and not as routers inside a router, which would be matched twice per call."""
    for router in routers:
        app.router.routes.extend(router.routes)
    for route in app.router.routes:
        door.guard(route)


def _docs_router(app: FastAPI) -> APIRouter:
    router = APIRouter()

    @router.get("/docs", include_in_schema=False, response_class=HTMLResponse)
    async def docs() -> str:
        return docs_page(app.openapi())

    return router


def _operation_id(route: APIRoute) -> str:
    """Short names for generated clients: the function's own."""
    return route.name
