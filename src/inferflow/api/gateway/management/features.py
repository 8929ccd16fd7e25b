"""Routes of the feature store: what there is, what a key has, and writing."""

from __future__ import annotations

from fastapi import APIRouter

from inferflow.api.gateway.management import feature_shapes as shapes
from inferflow.api.gateway.management.having import having
from inferflow.api.gateway.management.ports import BackOffice, Facts, Features
from inferflow.explanation.json_text import plain


def features_router(office: BackOffice) -> APIRouter:
    router = APIRouter(prefix="/api/v1/features", tags=["features"])

    def part() -> Features:
        return having(office.features, "features")

    @router.get("", response_model=shapes.FeatureSchemaDocument)
    async def feature_schema() -> Facts:
        """Entities, their keys, groups and features, and where they are kept."""
        found: Facts = plain(await part().schema())
        return found

    @router.post("/{entity}/lookup", response_model=shapes.FoundRows)
    async def look_up(entity: str, body: shapes.LookupBody) -> Facts:
        """Every feature of some keys: its value, whether it is real, and its age."""
        return {"rows": plain(await part().lookup(entity, body.keys, body.groups))}

    @router.put("/{entity}/{group}", response_model=shapes.Written)
    async def put_features(entity: str, group: str, body: shapes.PutBody) -> Facts:
        """Write features of some keys, all or nothing; those not named stay as they are."""
        rows = [row.model_dump() for row in body.rows]
        return {"written": await part().put(entity, group, rows)}

    return router
