"""The OpenAPI document: every route with its problems, its body and who may call it."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from inferflow.api.gateway.failing import OIP
from inferflow.api.gateway.health import Me
from inferflow.api.gateway.oip.telling import InferenceRequest, OipError
from inferflow.api.gateway.problem import MEDIA_TYPE, ProblemDocument
from inferflow.api.gateway.rules import RULES, told
from inferflow.api.gateway.score_documents import (
    PairsRequestBody,
    ScoreAnswer,
    ScoreRequestBody,
    SlatesRequestBody,
)

DESCRIPTION = """Scores, models, configs, features and a fleet over HTTP.

Errors are problem documents (RFC 9457) that name the field; below `/v2` they have the form of the
Open Inference Protocol. Every answer carries `x-request-id`. Numbers that JSON cannot hold are the
texts "NaN", "+Inf" and "-Inf". WebSockets, which OpenAPI has no words for:
`/v1/stream/{config_id}`, `/v2/models/{model}/stream` and `/api/v1/live`.
"""

_VERBS = ("get", "post", "put", "delete")
_NAMED: tuple[type[BaseModel], ...] = (
    Me,
    ScoreAnswer,
    ScoreRequestBody,
    PairsRequestBody,
    SlatesRequestBody,
    InferenceRequest,
    OipError,
    ProblemDocument,
)
"""Documents that no function's signature names, or whose examples hold nulls, which FastAPI leaves
out."""
_SECURITY = {"type": "http", "scheme": "bearer", "description": "An API key, `ifk_…`."}


def describe(app: FastAPI) -> None:
    """Let the application describe itself in full."""

    def openapi() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app)
        return app.openapi_schema

    setattr(app, "openapi", openapi)  # noqa: B010  # the way FastAPI documents, spelt for mypy


def _document(app: FastAPI) -> dict[str, Any]:
    document = get_openapi(
        title=app.title,
        version=app.version,
        summary=app.summary,
        description=DESCRIPTION,
        routes=app.routes,
    )
    components = document.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    named = [(model, "validation") for model in _NAMED]
    _, made = models_json_schema(named, ref_template="#/components/schemas/{model}")  # type: ignore[arg-type]
    schemas.update(made["$defs"])
    components["securitySchemes"] = {"key": _SECURITY}
    for path, operations in document["paths"].items():
        for verb in _VERBS:
            if verb in operations:
                _complete(operations[verb], path, f"{verb.upper()} {path}")
    return document


def _complete(operation: dict[str, Any], path: str, name: str) -> None:
    responses = operation["responses"]
    responses.pop("422", None) if _is_fastapis(responses.get("422")) else None
    is_oip = path == OIP or path.startswith(f"{OIP}/")
    model, media_type = (OipError, "application/json") if is_oip else (ProblemDocument, MEDIA_TYPE)
    schema = {"$ref": f"#/components/schemas/{model.__name__}"}
    for status, what in (("4XX", "Refused"), ("5XX", "Failed")):
        responses.setdefault(
            status, {"description": what, "content": {media_type: {"schema": schema}}}
        )
    rule = RULES[name]
    if rule.needs is not None:
        operation["security"] = [{"key": []}]
        operation["x-permission"] = told(rule)


def _is_fastapis(response: dict[str, Any] | None) -> bool:
    return response is not None and "HTTPValidationError" in str(response)
