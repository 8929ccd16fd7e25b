"""What a project last served well, so that the next start can fall back on it.

A config is more than its text: it was found good together with a feature schema and a set of
expressions, and may be good with no other. So all three are remembered per config, as hashes
of texts that are kept. Model files are not copied: they are large, and have versions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from inferflow.configstore.atomic import write_whole
from inferflow.configstore.texts import Texts
from inferflow.configstore.versions import Format
from inferflow.errors import ConfigStoreFailed


@dataclass(frozen=True, slots=True)
class Served:
    """One config as it was served."""

    file: str
    format: Format
    text: str
    """Hash of the config's text."""
    schema: str
    """Hash of features/schema.yaml; empty when there was none."""
    expressions: str
    """Hash of expressions.yaml; empty when there was none."""
    accepted_ms: int
    """When it was taken up, in milliseconds since the epoch."""
    version: int
    """Number in the config's history."""

    def is_like(self, other: Served) -> bool:
        """The same, whenever it was."""
        return replace(self, accepted_ms=0) == replace(other, accepted_ms=0)


class ServedStore:
    """The record of one project, replaced whole when what is served changes."""

    def __init__(self, home: Path, texts: Texts) -> None:
        self._path = home / "served.json"
        self.texts = texts

    def read(self) -> Mapping[str, Served]:
        """By config id; empty when nothing was ever served."""
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return {}
        except OSError as failed:
            raise ConfigStoreFailed(f"{self._path.name}: {failed}") from failed
        try:
            found: Mapping[str, Mapping[str, Any]] = json.loads(text)
            return {config_id: Served(**fields) for config_id, fields in found.items()}
        except (ValueError, TypeError, AttributeError) as broken:
            raise ConfigStoreFailed(
                f"{self._path.name}: {broken}; delete it to start without a last good version"
            ) from broken

    def newest_text(
        self, served: Mapping[str, Served], part: Literal["schema", "expressions"]
    ) -> str | None:
        """What was in use last, of what configs were found good with; None when nothing was."""
        by_time = sorted(served.values(), key=lambda each: each.accepted_ms)
        names = [name for each in by_time if (name := getattr(each, part))]
        return self.texts.get(names[-1]) if names else None

    def write(self, served: Mapping[str, Served]) -> None:
        fields = {config_id: asdict(each) for config_id, each in sorted(served.items())}
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, json.dumps(fields, indent=1, ensure_ascii=False))
        except OSError as failed:
            raise ConfigStoreFailed(f"{self._path.name}: {failed}") from failed
