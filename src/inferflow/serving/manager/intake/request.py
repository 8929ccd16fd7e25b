"""What a child process is asked: to look at one model, within limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass

from inferflow.serving.manager.intake.limits import IntakeLimits


@dataclass(frozen=True, slots=True)
class Request:
    model: str
    folder: str
    sizes: Mapping[str, int]
    """Of every file uploaded with the model, by path."""
    limits: IntakeLimits

    def as_text(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_text(cls, text: str) -> Request:
        said = json.loads(text)
        return cls(said["model"], said["folder"], said["sizes"], IntakeLimits(**said["limits"]))
