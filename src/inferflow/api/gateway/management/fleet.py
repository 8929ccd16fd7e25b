"""Routes of a fleet: models and their versions, workers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated

from fastapi import APIRouter, Body, Request

from inferflow.api.gateway.management import fleet_shapes as shapes
from inferflow.api.gateway.management.arriving import arriving
from inferflow.api.gateway.management.having import allowed, credential_of, having
from inferflow.api.gateway.management.ports import BackOffice, Facts, Fleet

Having = Callable[[], Fleet]
Traffic = Annotated[
    dict[str, float],
    Body(examples=[{"1": 90, "2": 10}], description="Percent by version; {}: all to production."),
]


def fleet_router(office: BackOffice) -> APIRouter:
    router = APIRouter(prefix="/api/v1", tags=["fleet"])

    def part() -> Fleet:
        return having(office.fleet, "fleet")

    _models(router, part)
    _versions(router, part)
    _workers(router, part)
    return router


def _models(router: APIRouter, part: Having) -> None:
    @router.get("/models", response_model=shapes.FleetModelList)
    async def list_models(request: Request) -> Facts:
        """Every model the caller's key is for, with its versions."""
        found = await part().models(credential_of(request))
        return {"models": allowed(request, found, "name")}

    @router.get("/models/{name}", response_model=shapes.FleetModel)
    async def get_model(name: str, request: Request) -> Facts:
        """A model: what its versions take and give, and where they stand."""
        return await part().model(credential_of(request), name)

    @router.put("/models/{name}/traffic", response_model=shapes.FleetModel)
    async def set_traffic(name: str, shares: Traffic, request: Request) -> Facts:
        """Split production traffic between versions."""
        return await part().set_traffic(credential_of(request), name, shares)


def _versions(router: APIRouter, part: Having) -> None:
    @router.post(
        "/models/{name}/versions",
        response_model=shapes.FleetModelVersion,
        openapi_extra=shapes.UPLOAD,
    )
    async def upload_version(name: str, request: Request) -> Facts:
        """Upload a new version. It is checked and tried before anybody can see it."""
        fleet = part()
        async with arriving(request) as arrived:
            return await fleet.upload(
                credential_of(request),
                name,
                arrived.files,
                version=arrived.field("version"),
                stage=arrived.field("stage"),
                description=arrived.field("description"),
            )

    @router.post(
        "/models/{name}/versions/{version}/promote", response_model=shapes.FleetModelVersion
    )
    async def promote_version(
        name: str, version: str, body: shapes.PromoteBody, request: Request
    ) -> Facts:
        """Give a version a stage. The one it replaces in production goes to the archive."""
        return await part().promote(credential_of(request), name, version, body.stage, body.reason)

    @router.delete("/models/{name}/versions/{version}", response_model=shapes.Done)
    async def delete_version(name: str, version: str, request: Request) -> Facts:
        """Forget a version and its files. Its number is not used again."""
        await part().delete_version(credential_of(request), name, version)
        return {"done": True}


def _workers(router: APIRouter, part: Having) -> None:
    @router.get("/workers", response_model=shapes.FleetWorkerList)
    async def list_workers(request: Request) -> Facts:
        """Every worker: its state, its load, and the models it holds."""
        return {"workers": await part().workers(credential_of(request))}

    @router.post("/workers/{worker_id}/drain", response_model=shapes.Done)
    async def drain_worker(worker_id: str, request: Request) -> Facts:
        """Have a worker leave: it gets no new callers, finishes its calls, and ends."""
        await part().drain(credential_of(request), worker_id)
        return {"done": True}
