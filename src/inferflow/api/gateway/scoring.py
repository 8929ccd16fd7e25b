"""Scores over HTTP: for targets, pairs and slates, and as a stream over a WebSocket."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Query, Request, WebSocket
from starlette.responses import Response

from inferflow.access import Permission
from inferflow.api.gateway.beside import beside
from inferflow.api.gateway.door import caller_of
from inferflow.api.gateway.failing import facts_of, said_of
from inferflow.api.gateway.ports import Beside, Ports, Scoring
from inferflow.api.gateway.problem import document
from inferflow.api.gateway.score_documents import (
    REQUEST_EXAMPLE,
    PairsAnswer,
    PairsRequestBody,
    ScoreAnswer,
    ScoreRequestBody,
    SlatesAnswer,
    SlatesRequestBody,
    json_body,
)
from inferflow.api.gateway.score_json import checked, parsed, read_request, written
from inferflow.api.gateway.sockets import converse
from inferflow.api.status import status_of
from inferflow.engine.request import ScoreRequest, request_from
from inferflow.errors import InferflowError, InvalidRequest, NotFound, PermissionDenied

JSON = "application/json"
MANY = 1_000
"""Targets whose answer is written in a thread, for it takes milliseconds."""
Explain = Annotated[bool, Query(description="Keep what happens, under the answer's `recording`.")]


def scoring_router(ports: Ports) -> APIRouter:
    router = APIRouter(tags=["scoring"])
    scorer = _Scorer(ports)

    @router.post(
        "/v1/score/{config_id}",
        response_model=ScoreAnswer,
        openapi_extra=json_body(ScoreRequestBody, REQUEST_EXAMPLE),
    )
    async def score_targets(config_id: str, request: Request, explain: Explain = False) -> Response:
        """Score targets; they come back in the order of the request, each with its rank."""
        return await scorer.answer(config_id, request, "targets", explain)

    @router.post(
        "/v1/score/{config_id}/pairs",
        response_model=PairsAnswer,
        openapi_extra=json_body(PairsRequestBody, {**REQUEST_EXAMPLE, "pairs": [[0, 1], [0, 2]]}),
    )
    async def score_pairs(config_id: str, request: Request, explain: Explain = False) -> Response:
        """Score pairs of targets, which are named by their places in the request."""
        return await scorer.answer(config_id, request, "pairs", explain)

    @router.post(
        "/v1/score/{config_id}/slates",
        response_model=SlatesAnswer,
        openapi_extra=json_body(SlatesRequestBody, {**REQUEST_EXAMPLE, "slates": [[0, 1, 2]]}),
    )
    async def score_slates(config_id: str, request: Request, explain: Explain = False) -> Response:
        """Score slates: some targets as a whole, named by their places in the request."""
        return await scorer.answer(config_id, request, "slates", explain)

    @router.websocket("/v1/stream/{config_id}")
    async def score_stream(websocket: WebSocket, config_id: str) -> None:
        await converse(websocket, lambda text, about: scorer.spoken(config_id, text, about), ports)

    return router


class _Scorer:
    def __init__(self, ports: Ports) -> None:
        self._scoring = ports.scoring
        self._bounds = ports.bounds

    async def answer(self, config_id: str, request: Request, kind: str, explain: bool) -> Response:
        scoring, caller = self._required(), caller_of(request)
        if explain and Permission.VIEW not in caller.permissions:
            raise PermissionDenied(f"explain needs the permission {Permission.VIEW.value!r}")
        about = beside(request, caller, self._bounds)
        asked = read_request(await request.body(), config_id, kind)
        asked.explain = explain
        body = await self._scored(scoring, asked, about)
        return Response(body, media_type=JSON)

    async def spoken(self, config_id: str, text: str, about: Beside) -> bytes:
        """One message of a stream: an answer, or the problem in its place."""
        tracking_id = ""
        try:
            said = parsed(text)
            tracking_id = str(said.get("tracking_id", "")) if isinstance(said, dict) else ""
            asked = checked(request_from(said, config_id=config_id), _kind_of(said))
            return await self._scored(self._required(), asked, about)
        except InferflowError as refused:
            return _problem(refused, about.request_id, tracking_id)

    async def _scored(self, scoring: Scoring, asked: ScoreRequest, about: Beside) -> bytes:
        given, most = asked.deadline_ms, self._bounds.max_deadline_ms
        if given is None:
            asked.deadline_ms = about.deadline_ms
        elif isinstance(given, int | float) and not given > 0:
            raise InvalidRequest("deadline_ms", f"{given} is not a number of milliseconds above 0")
        elif isinstance(given, int | float) and given > most:
            asked.deadline_ms = most
        scores = await scoring.score(asked, about)
        if len(scores.ids) < MANY:
            return written(scores, asked.tracking_id)
        return await asyncio.to_thread(written, scores, asked.tracking_id)

    def _required(self) -> Scoring:
        if self._scoring is None:
            raise NotFound("part of this gateway", "scoring")
        return self._scoring


def _kind_of(said: Any) -> str:
    return next((kind for kind in ("pairs", "slates") if kind in said), "targets")


def _problem(refused: InferflowError, request_id: str, tracking_id: str) -> bytes:
    status = status_of(refused).http
    told = document(status, said_of(refused), request_id, **facts_of(refused))
    return orjson.dumps({**told, "tracking_id": tracking_id})
