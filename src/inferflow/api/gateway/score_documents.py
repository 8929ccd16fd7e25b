"""Requests for scores and their answers as OpenAPI describes them.

They describe and do not parse: a request is read by the same code as one from a file, and checks
of thousands of values one by one would cost more than scoring them.
"""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

Id = str | int
Value = float | int | str | bool | list[Any]
Score = float | int | str | bool | list[Any] | None
"""Texts are "NaN", "+Inf" and "-Inf" where a number has no other form in JSON."""

REQUEST_EXAMPLE: dict[str, Any] = {
    "tracking_id": "t-1",
    "entities": {"user": "7", "product": ["1", "2", "3"]},
    "context": {"hour": 13},
}


class ScoreRequestBody(BaseModel):
    """What to score: things by their ids, and what holds for the request as a whole."""

    model_config = ConfigDict(extra="forbid")

    model_config_id: str | None = Field(None, description="As in the path, where it is given.")
    tracking_id: Id = ""
    user_id: Id = ""
    entities: dict[str, Id | list[Id]] = Field(description="One id, or many for what is ranked.")
    context: dict[str, Value] = {}
    features: dict[str, dict[str, Value]] = Field(
        {}, description="By entity and name: one value per target, or one for all."
    )
    deadline_ms: float | None = None


class PairsRequestBody(ScoreRequestBody):
    pairs: list[list[int]] = Field(description="Places of two targets each.")
    pair_features: dict[str, Value] = {}


class SlatesRequestBody(ScoreRequestBody):
    slates: list[list[int]] = Field(description="Places of the targets of each slate.")
    slate_features: dict[str, Value] = {}


class ScoredTarget(BaseModel):
    id: str
    rank: int = Field(description="1 has the highest value of the last column of numbers.")
    scores: dict[str, Score]
    error: str | None


class ScoredPair(BaseModel):
    index: int
    first: str
    second: str
    scores: dict[str, Score]
    error: str | None


class ScoredSlate(BaseModel):
    index: int
    targets: list[str]
    scores: dict[str, Score]
    error: str | None


class AnswerHead(BaseModel):
    model_config_id: str
    arm: str | None = Field(description="The config that answered, of several behind one id.")
    tracking_id: str
    config_version: str
    columns: list[str]
    request_error: str | None


class KeptAnswerHead(AnswerHead):
    recording: str | None = Field(description="Under which id what happened is kept.")


class ScoreAnswer(KeptAnswerHead):
    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "model_config_id": "ranker",
                "arm": None,
                "tracking_id": "t-1",
                "config_version": "b9a1c3",
                "columns": ["ranker:score"],
                "targets": [
                    {"id": "1", "rank": 2, "scores": {"ranker:score": 0.1}, "error": None},
                    {"id": "2", "rank": 1, "scores": {"ranker:score": 0.7}, "error": None},
                ],
                "request_error": None,
                "recording": None,
            }
        }
    )

    targets: list[ScoredTarget]


class PairsAnswer(KeptAnswerHead):
    pairs: list[ScoredPair]
    targets: list[ScoredTarget] | None = None


class SlatesAnswer(KeptAnswerHead):
    slates: list[ScoredSlate]
    targets: list[ScoredTarget] | None = None


def json_body(model: type[BaseModel], example: dict[str, Any]) -> dict[str, Any]:
    """The part of an operation that describes its body; `describing` gives the schema a name."""
    return {
        "parameters": [
            _deadline("timeout", "query"),
            _deadline("x-deadline-ms", "header"),
        ],
        "requestBody": {
            "required": True,
            "content": {
                "application/json": {
                    "schema": {"$ref": f"#/components/schemas/{model.__name__}"},
                    "example": example,
                }
            },
        },
    }


def _deadline(name: str, place: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": place,
        "required": False,
        "description": "Milliseconds the answer may take.",
        "schema": {"type": "number", "exclusiveMinimum": 0},
    }
