"""Routes of the inference log, and of settings."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query, Request

from inferflow.api.gateway.door import caller_of
from inferflow.api.gateway.management import log_shapes as shapes
from inferflow.api.gateway.management.having import CONFIG, allowed, having
from inferflow.api.gateway.management.ports import BackOffice, Facts, LogQuery
from inferflow.explanation.json_text import plain

Limit = Annotated[int, Query(ge=1, le=1000)]
Since = Annotated[int, Query(ge=0, le=2**53)]


def logs_router(office: BackOffice) -> APIRouter:
    router = APIRouter(prefix="/api/v1", tags=["logs"])

    @router.get("/logs", response_model=shapes.LogPage)
    async def list_logs(
        request: Request,
        config: str = "",
        tracking_id: str = "",
        user: str = "",
        since_ms: Since = 0,
        limit: Limit = 100,
        cursor: str = "",
    ) -> Facts:
        """What was inferred, newest first."""
        query = LogQuery(config, tracking_id, user, since_ms, limit, cursor)
        found: Facts = plain(await having(office.logs, "logs").page(query))
        return {**found, "records": allowed(request, found["records"], CONFIG)}

    @router.get("/logs/stats", response_model=shapes.LogCounts)
    async def log_stats(request: Request) -> Facts:
        """What there is, counted by config, and the files that could not be counted."""
        found = await having(office.logs, "logs").stats()
        sees_all = not caller_of(request).models.patterns  # for files are named after configs
        return {
            "configs": allowed(request, found["configs"], CONFIG),
            "unreadable": found["unreadable"] if sees_all else [],
        }

    @router.get("/settings", response_model=shapes.SettingList)
    async def list_settings() -> Facts:
        """Every setting with its value, where that comes from, and what it means."""
        return {"settings": plain(await having(office.settings, "settings").settings())}

    return router
