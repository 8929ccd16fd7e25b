"""What a runtime promises: turn model files into something that runs, and say what it takes.

ONNX Runtime is the one implementation (`onnx`). Another kind of model needs another `Runtime`,
and nothing above this file changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from inferflow.dtypes import Array
from inferflow.engine.deadline import Deadline
from inferflow.plan.catalog import ModelSignature
from inferflow.serving.runtime.repository import ModelFile

Optimise = Literal["off", "basic", "extended", "all"]


@dataclass(frozen=True, slots=True)
class LoadOptions:
    """How a model is to be loaded."""

    optimise: Optimise = "all"
    """How far the graph may be rewritten to run faster."""
    quantise: bool = False
    """Weights as 8-bit integers: smaller, often faster, slightly different answers."""
    intra_threads: int = 1
    """Threads inside an operator; 0 for one per core."""
    inter_threads: int = 1
    """Threads for operators that do not need each other."""
    providers: tuple[str, ...] = ("CPU",)
    """Execution providers by preference, such as `CUDA`; the CPU always comes last."""
    device: int = 0
    """Which of several devices."""
    device_memory_mb: int | None = None
    """Most memory the model's arena may take on a device other than the CPU."""


class LoadedModel(Protocol):
    """A model in memory. Safe to run from several threads at once."""

    @property
    def signature(self) -> ModelSignature: ...

    @property
    def platform(self) -> str:
        """The kind of model as the Open Inference Protocol names it."""
        ...

    @property
    def computes_here(self) -> bool:
        """Whether a run computes on the calling thread alone, and on no device."""
        ...

    def run(
        self, outputs: Sequence[str], feed: dict[str, Array], deadline: Deadline
    ) -> Sequence[Array]:
        """The named outputs for one feed; releases the GIL while it computes.

        Raises ModelFailed or DeadlinePassed, the latter soon after the deadline has passed.
        """
        ...


class Runtime(Protocol):
    """Loads models."""

    def load(self, file: ModelFile, options: LoadOptions) -> LoadedModel:
        """Blocks until the model is in memory. Raises ModelUnreadable or InvalidInput."""
        ...

    def stop_runs(self) -> None:
        """Stop every run that has a deadline, and every load, although time is left."""
        ...

    def close(self) -> None:
        """Give back what is shared by the models."""
        ...
