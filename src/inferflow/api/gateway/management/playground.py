"""Routes to try requests, and to look at those that servers keep."""

from __future__ import annotations

import asyncio
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import Response

from inferflow.api.gateway.management import play_shapes as shapes
from inferflow.api.gateway.management.having import CONFIG, allowed, having, is_for
from inferflow.api.gateway.management.ports import BackOffice, Facts
from inferflow.api.gateway.management.rejecting import rejecting
from inferflow.errors import NotFound
from inferflow.explanation.json_text import json_text

JSON = "application/json"
Last = Annotated[int, Query(ge=1, le=1000, description="The newest so many.")]


def playground_router(office: BackOffice) -> APIRouter:
    router = APIRouter(prefix="/api/v1", tags=["playground"])

    @router.get("/samples", response_model=shapes.SampleList)
    async def list_samples(request: Request, config: str = "") -> Facts:
        """The project's sample requests, of one config or of all."""
        found = await having(office.playground, "playground").samples(config)
        named = ((str(each["request"].get(CONFIG, "")), each) for each in found)
        return {"samples": [each for config_id, each in named if is_for(request, config_id)]}

    @router.post("/playground/{config_id}", response_model=shapes.Played)
    async def play(config_id: str, body: shapes.PlayBody) -> Response:
        """Score a request and say what happened; with overrides, also what would have.

        Nothing is written, counted or logged."""
        with rejecting():
            found = await having(office.playground, "playground").play(
                config_id, body.request, item=body.item, overrides=body.overrides.model_dump()
            )
        # Thousands of rows take their time, which others on this loop do not have.
        return Response(await asyncio.to_thread(json_text, found), media_type=JSON)

    @router.get("/recordings", response_model=shapes.RecordingList)
    async def list_recordings(request: Request, last: Last = 50) -> Facts:
        """Requests that were slow, failed or asked to be kept; newest first."""
        found = await having(office.recordings, "recordings").latest(last)
        return {"recordings": allowed(request, found, CONFIG)}

    @router.get(
        "/recordings/{recording}",
        response_model=shapes.RecordingDocument,
        response_model_exclude_unset=True,
    )
    async def get_recording(request: Request, recording: str, item: str = "") -> Facts:
        """One of them, step by step; with `item`, all columns of that target."""
        found = await having(office.recordings, "recordings").get(recording, item)
        if not is_for(request, found[CONFIG]):  # not even that it is there
            raise NotFound("recording", recording)
        return found

    return router
