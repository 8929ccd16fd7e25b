"""What a caller is told when there is no answer: a problem document (RFC 9457)."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

from inferflow.errors import InferflowError

MEDIA_TYPE = "application/problem+json"


class Finding(BaseModel):
    """One thing that is wrong with a config, and where."""

    where: str
    what: str
    hint: str | None = None
    severity: Literal["error", "note"] = "error"
    line: int | None = None
    column: int | None = None


class ProblemDocument(BaseModel):
    """Why there is no answer. `field` is the place in the request, where it is at fault."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "example": {
                "type": "about:blank",
                "title": "Bad Request",
                "status": 400,
                "detail": "entities.product: has no ids",
                "field": "entities.product",
                "request_id": "1f0c7a",
            }
        },
    )

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    request_id: str
    field: str | None = None
    hint: str | None = None
    problems: list[Finding] | None = None


class Refused(InferflowError):
    """An answer that is no success, with more to say than an error's text: for routes whose
    refusals carry the findings of a check, or the version there is."""

    def __init__(self, status: int, detail: str, **facts: Any) -> None:
        super().__init__(detail)
        self.status = status
        self.facts = facts


def document(status: int, detail: str, request_id: str, **facts: Any) -> dict[str, Any]:
    """The document, with those of the facts that say something."""
    said = {name: fact for name, fact in facts.items() if fact is not None and fact != ""}
    return {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
        **said,
        "request_id": request_id,
    }
