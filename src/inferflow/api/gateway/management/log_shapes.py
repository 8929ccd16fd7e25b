"""The inference log and settings as JSON."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class LogRecord(BaseModel):
    """What was logged of one request."""

    at_ms: int
    model_config_id: str
    config_version: str
    tracking_id: str
    user: str
    kind: Literal["targets", "pairs", "slates"]
    rows: list[dict[str, Any]] = Field(description="`id`, and one value per logged column.")


class LogPage(BaseModel):
    sink: Literal["files", "kafka", "off"]
    records: list[LogRecord]
    next: str | None = Field(description="`cursor` of the next page; null on the last.")


class LogCount(BaseModel):
    """What there is of one config."""

    model_config = ConfigDict(extra="allow")

    model_config_id: str
    parts: int
    bytes: int
    requests: int
    rows: dict[str, int]
    failed_rows: int
    config_versions: dict[str, int]
    models: dict[str, int]
    first: str
    last: str


class LogCounts(BaseModel):
    configs: list[LogCount]
    unreadable: list[str] = Field(description="Files that cannot be read, and count nowhere.")


class SettingValue(BaseModel):
    name: str
    value: Any = Field(description="Secrets are stars.")
    unit: str
    source: str
    meaning: str
    unused: str = Field(description="Why nothing acts on it; empty when something does.")
    environment: list[str]


class SettingList(BaseModel):
    settings: list[SettingValue]
