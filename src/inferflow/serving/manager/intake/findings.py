"""What the checks of a model found, and how it travels out of the child process."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from inferflow.serving.manager.storage.records import Tensor


@dataclass(frozen=True, slots=True)
class Findings:
    """A model that may be served."""

    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    note: str = ""
    """Something worth knowing that is no reason to refuse."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """A model that may not, and why."""

    why: str
    hint: str = ""


def as_text(answer: Findings | Refusal) -> str:
    kind = "findings" if isinstance(answer, Findings) else "refusal"
    return json.dumps({kind: asdict(answer)})


def from_text(text: str) -> Findings | Refusal:
    """Raises ValueError, KeyError or TypeError for anything a child of ours would not say."""
    said = json.loads(text)
    if "refusal" in said:
        return Refusal(**said["refusal"])
    found = said["findings"]
    return Findings(_tensors(found["inputs"]), _tensors(found["outputs"]), str(found["note"]))


def _tensors(sides: list[Mapping[str, Any]]) -> tuple[Tensor, ...]:
    return tuple(Tensor(s["name"], s["datatype"], tuple(s["shape"])) for s in sides)
