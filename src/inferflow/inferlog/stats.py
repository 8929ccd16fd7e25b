"""What a log holds of one config, counted."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any


@dataclass(slots=True)
class LogStats:
    config_id: str
    parts: int = 0
    """Files, or messages."""
    size_bytes: int = 0
    requests: int = 0
    rows: Counter[str] = field(default_factory=Counter)
    """targets, pairs and slates."""
    failed_rows: int = 0
    """Rows that an error was noted of; files only."""
    config_versions: Counter[str] = field(default_factory=Counter)
    """version → rows."""
    models: Counter[str] = field(default_factory=Counter)
    """step@version → rows."""
    first: float | None = None
    last: float | None = None
    """Seconds since the epoch."""

    def saw(self, *moments: float) -> None:
        known = [each for each in (self.first, self.last, *moments) if each is not None]
        if known:
            self.first, self.last = min(known), max(known)

    def to_dict(self) -> dict[str, Any]:
        return {
            "model_config_id": self.config_id,
            "parts": self.parts,
            "bytes": self.size_bytes,
            "requests": self.requests,
            "rows": dict(self.rows),
            "failed_rows": self.failed_rows,
            "config_versions": dict(self.config_versions),
            "models": dict(self.models),
            "first": moment(self.first),
            "last": moment(self.last),
        }


def moment(at: float | None) -> str:
    return "" if at is None else f"{datetime.fromtimestamp(at, UTC):%Y-%m-%dT%H:%M:%SZ}"
