"""The expressions a compute service last found good, on its own disk: what a start without their
source begins with.

A memory, not the truth: when it cannot be read there is none, and when it cannot be written the
service goes on without.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inferflow.configstore.atomic import write_whole

log = logging.getLogger(__name__)


class KeptExpressions:
    def __init__(self, path: Path) -> None:
        self._path = path

    def load(self) -> dict[str, Any]:
        """By compute id, as they were written."""
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as lost:
            log.warning("kept_expressions_lost", extra={"file": str(self._path), "why": str(lost)})
            return {}
        return found if isinstance(found, dict) else {}

    def keep(self, sources: Mapping[str, Any]) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write_whole(self._path, json.dumps(dict(sources), indent=1, ensure_ascii=False))
        except (OSError, TypeError, ValueError) as refused:
            extra = {"file": str(self._path), "why": str(refused)}
            log.warning("expressions_not_kept", extra=extra)
