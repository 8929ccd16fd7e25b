"""Routes of keys, and of who changed what."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from inferflow.api.gateway.management import fleet_shapes as shapes
from inferflow.api.gateway.management.having import credential_of, having
from inferflow.api.gateway.management.ports import BackOffice, Facts, Fleet, KeyWish

Limit = Annotated[int, Query(ge=1, le=1000)]


def keys_router(office: BackOffice) -> APIRouter:
    router = APIRouter(prefix="/api/v1", tags=["keys"])

    def part() -> Fleet:
        return having(office.fleet, "fleet")

    @router.get("/keys", response_model=shapes.FleetKeyList)
    async def list_keys(request: Request) -> Facts:
        """Every key: what it is good for, and how much it was used."""
        return {"keys": await part().keys(credential_of(request))}

    @router.post("/keys", response_model=shapes.NewKey)
    async def create_key(body: shapes.KeyBody, request: Request) -> Facts:
        """Make a key. Its text is in this answer and never again in any other."""
        wish = KeyWish(
            body.name,
            body.permissions,
            body.models,
            body.expires_ms or 0,
            0.0 if body.rate is None else body.rate.per_second,
            0 if body.rate is None else body.rate.burst,
        )
        return await part().create_key(credential_of(request), wish)

    @router.delete("/keys/{key_id}", response_model=shapes.FleetKey)
    async def revoke_key(key_id: str, request: Request) -> Facts:
        """End a key. Managers refuse it at once, and workers within a heartbeat."""
        return await part().revoke_key(credential_of(request), key_id)

    @router.get("/audit", response_model=shapes.AuditList)
    async def list_audit(request: Request, limit: Limit = 100) -> Facts:
        """Who changed what, newest first."""
        return {"entries": await part().audit(credential_of(request), limit)}

    return router
