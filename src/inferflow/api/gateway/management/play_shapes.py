"""Trying requests, and what servers keep of real ones, as JSON."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from inferflow.api.gateway.score_documents import (
    AnswerHead,
    ScoredPair,
    ScoredSlate,
    ScoredTarget,
)

REQUEST: dict[str, Any] = {
    "entities": {"user": "7", "product": ["1", "2", "3"]},
    "context": {"hour": 20},
}


class Sample(BaseModel):
    name: str
    request: dict[str, Any]


class SampleList(BaseModel):
    samples: list[Sample]


class OtherValue(BaseModel):
    model_config = ConfigDict(extra="forbid")

    column: str = Field(examples=["user:profile:age"], description="As explanations name it.")
    id: str | None = Field(
        None, description="The target whose key has this value; unset: every key."
    )
    value: Any


class Overrides(BaseModel):
    """What to change before scoring again. Nothing that is stored changes."""

    model_config = ConfigDict(extra="forbid")

    values: list[OtherValue] = Field([], max_length=256)
    models: dict[str, str] = Field({}, description="Version by model, or by model step.")
    text: str | None = Field(None, description="Another config text, in either format.")


class PlayBody(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"request": REQUEST, "item": "2"}}
    )

    request: dict[str, Any] = Field(description="As for `/v1/score`; pairs or slates if wanted.")
    item: str | None = Field(None, description="The target to explain, by its id.")
    overrides: Overrides = Overrides()


class PlayedAnswer(AnswerHead):
    targets: list[ScoredTarget] | None = None
    pairs: list[ScoredPair] | None = None
    slates: list[ScoredSlate] | None = None


class RunStep(BaseModel):
    """One step of a run. Which facts there are depends on its kind."""

    model_config = ConfigDict(extra="allow")

    step: str
    kind: str
    start_us: float | None
    duration_us: float
    rows: int
    unit: str
    skipped: str
    error: str


class Run(BaseModel):
    """What happened, step by step."""

    model_config = ConfigDict(extra="allow")

    model_config_id: str
    config_version: str
    targets: int
    unit: str
    total_us: float
    failure: str = ""
    steps: list[RunStep]
    bound: list[dict[str, Any]] = []
    unused: list[str] = []
    errors: dict[str, dict[str, int]] = {}


class ItemColumn(BaseModel):
    model_config = ConfigDict(extra="allow")

    column: str
    dtype: str
    value: Any
    step: str
    state: str = Field(description="real, default, missing, expired, pinned, given, computed, …")
    source: str
    age_s: float | None = None
    has_default: bool | None = None


class ItemRow(BaseModel):
    model_config = ConfigDict(extra="allow")

    row: int
    of: int
    error: str
    scores: dict[str, Any]
    columns: list[ItemColumn]


class Item(BaseModel):
    """Why one target scored what it did."""

    item: str
    rows: list[ItemRow]


class MatrixColumn(BaseModel):
    column: str
    step: str
    at_us: float = Field(description="When its step ended.")
    dtype: str
    min: float | None
    max: float | None
    sample: list[str]
    defaults: int = Field(description="Rows whose value is not the store's own.")


class MatrixDocument(BaseModel):
    columns: list[MatrixColumn]
    rows: int
    ids: list[str]


class Played(BaseModel):
    answer: PlayedAnswer
    baseline: PlayedAnswer | None = Field(
        description="The same request without the overrides, where there are any."
    )
    run: Run
    item: Item | None
    matrix: MatrixDocument


class RecordingLine(BaseModel):
    """A request that a server keeps."""

    model_config = ConfigDict(extra="allow")

    recording: str
    kept_because: str
    at_ms: int
    request_id: str
    tracking_id: str
    method: str
    model_config_id: str
    config_version: str
    arm: str
    rows: int
    duration_us: float
    error: str
    longest_step: str
    has_values: bool


class RecordingList(BaseModel):
    recordings: list[RecordingLine]


class RecordingDocument(RecordingLine):
    run: Run | None
    item: Item | None
