"""What an archive holds: every file with its size and digest, and what it could not hold.

Times of change travel in nanoseconds, because a store recognises the feature files it has loaded by
them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from inferflow.errors import InvalidInput

FORMAT = 1
"""Raised when an archive of the new form cannot be restored by older code."""
NAME = "manifest.json"
"""The last member of an archive: one that was cut off has none."""


@dataclass(frozen=True, slots=True)
class FileFacts:
    size: int
    sha256: str
    mtime_ns: int
    mode: int


@dataclass(frozen=True, slots=True)
class Manifest:
    made_by: str
    """The version of Inferflow."""
    made_ms: int
    files: Mapping[str, FileFacts]
    """By name in the archive: `project/…` or `state/…`."""
    elsewhere: tuple[str, ...] = ()
    """What the project uses and no file holds, such as configs in etcd."""

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files.values())

    def text(self) -> str:
        fields = {
            "format": FORMAT,
            "made_by": self.made_by,
            "made_ms": self.made_ms,
            "elsewhere": list(self.elsewhere),
            "files": {name: asdict(facts) for name, facts in sorted(self.files.items())},
        }
        return json.dumps(fields, indent=1, ensure_ascii=False)


def parse_manifest(text: bytes, where: str) -> Manifest:
    """Raises InvalidInput for a text that is no manifest, or one of a newer form."""
    try:
        fields: Mapping[str, Any] = json.loads(text)
        if fields["format"] > FORMAT:
            raise InvalidInput(
                f"{where}: made by Inferflow {fields['made_by']} in a newer form; upgrade Inferflow"
            )
        files = {str(name): FileFacts(**facts) for name, facts in fields["files"].items()}
        return Manifest(
            str(fields["made_by"]), int(fields["made_ms"]), files, tuple(fields["elsewhere"])
        )
    except (ValueError, TypeError, KeyError, AttributeError) as broken:
        raise InvalidInput(f"{where}: not a backup, its manifest is damaged: {broken}") from broken
