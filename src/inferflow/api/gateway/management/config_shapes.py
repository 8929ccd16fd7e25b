"""Configs, their versions and their plans as JSON."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from inferflow.api.gateway.problem import Finding

LONGEST_TEXT = 4 * 1024 * 1024
LONGEST_NOTE = 2_000
_EXAMPLE = "response_config: {features: [ranker:score]}\n"

Format = Literal["yaml", "json"]


class ConfigState(BaseModel):
    """How a config stands with those who serve it."""

    model_config = ConfigDict(extra="allow")

    id: str
    file: str
    state: Literal["serving", "last good", "refused"] = Field(
        description="`last good`: what is written was refused, and an earlier version serves."
    )
    version: int = Field(description="The version that serves; 0 when none does.")
    hash: str
    plan: str = Field(description="What answers carry as their `config_version`.")
    accepted_ms: int
    origin: str
    author: str
    split: dict[str, float] | None = Field(
        None, description="Percent by config, where the id stands for several."
    )
    errors: int
    problems: list[Finding] = []


class ConfigList(BaseModel):
    configs: list[ConfigState]


class ConfigText(BaseModel):
    status: ConfigState
    text: str
    format: Format
    version: int = Field(description="The newest version there is; 0 before the first.")
    hash: str


class WrittenColumn(BaseModel):
    column: str
    dtype: str
    width: int
    source: str
    read_by: list[str]


class PlanNode(BaseModel):
    id: str
    kind: Literal["init", "feature", "model", "compute"]
    level: int = Field(description="Longest way from the root.")
    unit: Literal["targets", "slates"]
    reads: list[str]
    writes: list[WrittenColumn]
    facts: dict[str, str]


class PlanEdge(BaseModel):
    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    from_: str = Field(alias="from")
    to: str


class PlanInputs(BaseModel):
    """What a request brings."""

    entities: list[str]
    context: list[str]
    features: list[str] = Field(description="Features a request may bring itself.")


class PlanDocument(BaseModel):
    id: str
    digest: str
    target_entity: str
    nodes: list[PlanNode]
    edges: list[PlanEdge]
    response_columns: list[str]
    request_columns: list[str]
    inputs: PlanInputs


class ConfigBody(BaseModel):
    """A config that somebody writes."""

    model_config = ConfigDict(extra="forbid")

    text: str = Field(max_length=LONGEST_TEXT, examples=[_EXAMPLE])
    format: Format = "yaml"


class ValidateBody(ConfigBody):
    id: str = Field("", description="The id of a text that names none.", examples=["ranker"])


class PublishBody(ConfigBody):
    expected_version: int | None = Field(
        None, ge=0, description="Only when this is the newest version; 0 for a new config."
    )
    note: str = Field("", max_length=LONGEST_NOTE)
    force: bool = Field(False, description="Also when golden requests fail; that is recorded.")


class RollbackBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    to: int | None = Field(None, ge=1, description="The last that was different, unless given.")
    expected_version: int | None = Field(None, ge=0)


class Validated(BaseModel):
    ok: bool
    id: str
    problems: list[Finding]
    plan: PlanDocument | None


class GoldenResult(BaseModel):
    request: str
    passed: bool
    difference: float | str | None = Field(description="The largest one, relative.")
    detail: str


class CheckedConfig(BaseModel):
    ok: bool
    id: str
    problems: list[Finding]
    golden: list[GoldenResult]
    diff: list[str] = Field(description="Unified, to what is written now.")


class ConfigVersion(BaseModel):
    number: int
    hash: str
    author: str
    at_ms: int
    origin: str
    checks: str
    note: str
    is_removal: bool
    is_current: bool


class PublishedConfig(BaseModel):
    version: ConfigVersion
    golden: list[GoldenResult]
    notes: list[Finding]


class ConfigHistory(BaseModel):
    versions: list[ConfigVersion]


class VersionText(BaseModel):
    version: ConfigVersion
    text: str
    format: Format


class ConfigDifference(BaseModel):
    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    from_: int = Field(alias="from")
    to: int
    lines: list[str]


REFUSALS: dict[int | str, dict[str, Any]] = {
    409: {"description": "Another version is the newest; `current` is its number."},
    422: {"description": "It has problems, or golden requests fail: `problems` or `golden`."},
}
"""What a route that publishes may answer besides."""
