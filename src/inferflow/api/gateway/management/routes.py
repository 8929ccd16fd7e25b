"""All routers of the management part."""

from __future__ import annotations

from fastapi import APIRouter

from inferflow.api.gateway.management.configs import configs_router
from inferflow.api.gateway.management.features import features_router
from inferflow.api.gateway.management.fleet import fleet_router
from inferflow.api.gateway.management.keys import keys_router
from inferflow.api.gateway.management.live import live_router
from inferflow.api.gateway.management.logs import logs_router
from inferflow.api.gateway.management.playground import playground_router
from inferflow.api.gateway.management.ports import BackOffice
from inferflow.api.gateway.ports import Bounds


def management_routers(office: BackOffice, bounds: Bounds) -> list[APIRouter]:
    makers = (
        configs_router,
        playground_router,
        fleet_router,
        keys_router,
        features_router,
        logs_router,
    )
    return [*(make(office) for make in makers), live_router(office, bounds)]
