"""Features as JSON: what there is, and what a key has."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MOST_KEYS = 1_000
KeyPart = str | int


class FeatureField(BaseModel):
    name: str
    dtype: str
    default: Any
    dim: int | None = Field(description="Elements of a vector.")


class FeatureGroup(BaseModel):
    name: str
    ttl_s: float | None
    features: list[FeatureField]


class FeatureEntity(BaseModel):
    name: str
    keys: list[str]
    groups: list[FeatureGroup]


class FeatureSchemaDocument(BaseModel):
    entities: list[FeatureEntity]
    backend: Literal["lmdb", "memory", "redis", "service"]


class LookupBody(BaseModel):
    model_config = ConfigDict(
        extra="forbid", json_schema_extra={"example": {"keys": [["7"], ["9"]]}}
    )

    keys: list[list[KeyPart]] = Field(min_length=1, max_length=MOST_KEYS)
    groups: list[str] = []


class FoundValue(BaseModel):
    value: Any
    state: str = Field(description="real, default, missing, expired or failed.")


class FoundGroup(BaseModel):
    state: Literal["real", "missing", "expired", "partial", "failed"]
    written_ms: int | None
    expires_ms: int | None
    values: dict[str, FoundValue]


class FoundRow(BaseModel):
    key: list[str]
    groups: dict[str, FoundGroup]


class FoundRows(BaseModel):
    rows: list[FoundRow]


class RowBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    key: list[KeyPart] = Field(min_length=1)
    values: dict[str, Any] = Field(min_length=1, description="null: no value from now on.")


class PutBody(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"example": {"rows": [{"key": ["7"], "values": {"age": 31}}]}},
    )

    rows: list[RowBody] = Field(min_length=1, max_length=MOST_KEYS)


class Written(BaseModel):
    written: int
