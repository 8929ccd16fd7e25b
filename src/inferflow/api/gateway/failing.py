"""Errors as answers, by the one status table. What is inside stays inside: an error of ours is
logged whole and told in one plain sentence."""

from __future__ import annotations

import logging
import math
from typing import Any

import orjson
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.responses import Response

from inferflow.api.gateway.problem import MEDIA_TYPE, Refused, document
from inferflow.api.status import status_of, text_of
from inferflow.errors import DeadlinePassed, InferflowError, Unauthenticated, Unreachable

OIP = "/v2"
"""Below it, errors have the form of the Open Inference Protocol."""
UNEXPECTED = "something failed here that should not have; the log knows more"

log = logging.getLogger(__name__)


def answer_errors(app: FastAPI) -> None:
    """Every error of this application becomes a document."""
    app.add_exception_handler(InferflowError, _refused)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)


def problem_response(
    path: str, status: int, detail: str, request_id: str, **facts: Any
) -> Response:
    if path == OIP or path.startswith(f"{OIP}/"):
        return Response(orjson.dumps({"error": detail}), status, media_type="application/json")
    body = document(status, detail, request_id, **facts)
    return Response(orjson.dumps(body), status, media_type=MEDIA_TYPE)


def refusal(error: InferflowError, path: str, request_id: str) -> Response:
    """An error of ours as an answer."""
    if isinstance(error, Refused):
        return problem_response(path, error.status, str(error), request_id, **error.facts)
    status = status_of(error).http
    if status == 500:
        log.error("http_failed", exc_info=error, extra={"path": path, "request_id": request_id})
    response = problem_response(path, status, said_of(error), request_id, **facts_of(error))
    wait_ms = getattr(error, "retry_after_ms", None)
    if wait_ms is not None:
        response.headers["retry-after"] = str(max(1, math.ceil(wait_ms / 1000)))
    if isinstance(error, Unauthenticated):
        response.headers["www-authenticate"] = "Bearer"
    return response


def said_of(error: InferflowError) -> str:
    """What the caller is told. Where the servers behind the gateway are is not for callers."""
    if isinstance(error, Unreachable):
        return "no server behind this gateway answers; try again in a moment"
    if isinstance(error, DeadlinePassed):
        return f"there was no answer within {error.budget_ms:g} ms"
    return text_of(error)


def facts_of(error: InferflowError) -> dict[str, Any]:
    """What an error knows beside its text."""
    nearest = getattr(error, "nearest", "")
    return {
        "field": getattr(error, "field", None),
        "hint": getattr(error, "hint", "") or (f"closest: {nearest!r}" if nearest else ""),
        "recording": error.recording,
    }


def request_id_of(scope: Any) -> str:
    return str(scope.get("state", {}).get("request_id", ""))


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, InferflowError)
    return refusal(error, request.url.path, request_id_of(request.scope))


async def _invalid(request: Request, error: Exception) -> Response:
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    field = ".".join(str(piece) for piece in first["loc"][1:]) or "body"
    return problem_response(
        request.url.path,
        400,
        f"{field}: {first['msg']}",
        request_id_of(request.scope),
        field=field,
    )


async def _http(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.url.path
    if isinstance(error.__cause__, InferflowError):  # raised while FastAPI read the body
        return refusal(error.__cause__, path, request_id_of(request.scope))
    response = problem_response(
        path, error.status_code, str(error.detail), request_id_of(request.scope)
    )
    response.headers.update(error.headers or {})
    return response
