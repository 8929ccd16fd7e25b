"""What a push is about to do, written down first.

A push replaces a file people see and adds a line to the journal: two steps. Whoever dies in
between leaves this note, and the next to take the store's lock brings the push to its end, or
finds that it never began.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from inferflow.configstore.atomic import make_durable, write_whole
from inferflow.configstore.versions import Version
from inferflow.errors import ConfigStoreFailed


@dataclass(frozen=True, slots=True)
class Pending:
    version: Version
    file: str
    """Name of the file the version's text goes to."""
    before: str
    """Hash of what that file held; empty when there was none. As long as it holds that, the
    push has not begun."""
    old_file: str = ""
    """Name of a file that goes, when the text goes to another one than before."""


class PendingNote:
    def __init__(self, path: Path) -> None:
        self._path = path

    def write(self, pending: Pending) -> None:
        write_whole(self._path, json.dumps(asdict(pending), ensure_ascii=False))

    def read(self) -> Pending | None:
        try:
            text = self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return None
        try:
            fields: Mapping[str, Any] = json.loads(text)
            return Pending(**{**fields, "version": Version(**fields["version"])})
        except (ValueError, TypeError, KeyError) as broken:
            raise ConfigStoreFailed(
                f"{self._path.name}: not a note of a push: {broken}"
            ) from broken

    def clear(self) -> None:
        self._path.unlink(missing_ok=True)
        make_durable(self._path.parent)
