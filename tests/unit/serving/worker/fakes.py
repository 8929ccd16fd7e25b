"""Models that are Python functions, and a runtime that loads them from a dictionary."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from inferflow.dtypes import FP32, Array
from inferflow.engine.deadline import Deadline
from inferflow.errors import DeadlinePassed, ModelFailed, ModelUnreadable, NotFound
from inferflow.plan.catalog import ModelSignature, TensorInfo
from inferflow.serving.runtime.port import LoadOptions
from inferflow.serving.runtime.repository import ModelFile

T = TypeVar("T")
Function = Callable[[Array], Array]


def double(values: Array) -> Array:
    """Fails for a negative value, as a model may for a bad request."""
    if (values < 0).any():
        raise ModelFailed("fake", "a negative value")
    return values * 2


@dataclass
class FakeLoaded:
    """Implements `LoadedModel`. `gate` holds up every run until it is opened."""

    signature: ModelSignature
    function: Function = double
    gate: threading.Event | None = None
    platform: str = "fake"
    computes_here: bool = True
    runs: list[int] = field(default_factory=list)
    """Rows of each run."""
    started: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))

    def run(
        self, outputs: Sequence[str], feed: dict[str, Array], deadline: Deadline
    ) -> Sequence[Array]:
        values = feed["x"]
        self.runs.append(len(values))
        self.started.release()
        if self.gate is not None and not self.gate.wait(min(deadline.remaining_s(), 30)):
            raise DeadlinePassed("fake", deadline.budget_ms)
        deadline.check("fake")
        answer = self.function(values)
        return [answer for _ in outputs]


def signature(model: str = "m", version: str = "1", digest: str = "d") -> ModelSignature:
    side = (None, 2)
    return ModelSignature(
        model, version, (TensorInfo("x", FP32, side),), (TensorInfo("y", FP32, side),), digest
    )


@dataclass
class FakeWorld:
    """A source and a runtime in one. `files` maps (model, version) to a digest; a digest that
    begins with `bad` cannot be loaded."""

    files: dict[tuple[str, str], str]
    folder: Path
    bytes_each: int = 100
    gate: threading.Event | None = None
    loads: list[str] = field(default_factory=list)
    loaded: dict[str, FakeLoaded] = field(default_factory=dict)

    def index(self, *, is_urgent: bool = True) -> dict[str, tuple[str, ...]]:
        found: dict[str, tuple[str, ...]] = {}
        for model, version in sorted(self.files):
            found[model] = (*found.get(model, ()), version)
        return found

    def fetch(self, model: str, version: str) -> ModelFile:
        digest = self.files.get((model, version))
        if digest is None:
            raise NotFound("model", f"{model}@{version}")
        path = self.folder / model / version / "model.onnx"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * self.bytes_each)
        return ModelFile(model, version, path, digest)

    def load(self, file: ModelFile, options: LoadOptions) -> FakeLoaded:
        self.loads.append(file.label)
        if self.gate is not None:
            assert self.gate.wait(30)
        if file.digest.startswith("bad"):
            raise ModelUnreadable(file.label, "it is broken")
        made = FakeLoaded(signature(file.model, file.version, file.digest))
        self.loaded[file.label] = made
        return made

    def stop_runs(self) -> None:
        pass

    def close(self) -> None:
        pass


def rows(*values: float) -> Array:
    return np.array([[value, value] for value in values], np.float32)


def run(main: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(main, 30))
