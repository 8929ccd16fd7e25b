"""Loads a model and runs it once, on inputs made up from its signature.

Only what shows that the model would harm a worker is a reason to refuse it: that it does not load,
wants more memory than there is, or does not end. A model that dislikes made-up values may still be
a good one, so that is noted and no more.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from inferflow.dtypes import Array
from inferflow.engine.deadline import Deadline
from inferflow.errors import DeadlinePassed, ModelFailed, ModelUnreadable
from inferflow.plan.catalog import ModelSignature, TensorInfo
from inferflow.serving.manager.intake.findings import Findings
from inferflow.serving.manager.intake.inspecting import MODEL_FILE
from inferflow.serving.manager.intake.limits import IntakeLimits
from inferflow.serving.manager.storage.records import Tensor

_NO_MEMORY = re.compile(r"bad_alloc|alloc\w* memory|out of memory|MemoryError", re.IGNORECASE)


def try_model(model: str, limits: IntakeLimits) -> Findings:
    """Load and run the model in the current folder. Raises ModelUnreadable."""
    from inferflow.serving.runtime.onnx import OnnxRuntime
    from inferflow.serving.runtime.port import LoadOptions
    from inferflow.serving.runtime.repository import ModelFile

    runtime = OnnxRuntime(cache=Path(), load_limit_s=limits.run_seconds)
    file = ModelFile(model, "0", Path(MODEL_FILE).absolute(), "")
    loaded = runtime.load(file, LoadOptions())
    signature = loaded.signature
    note = ""
    try:
        outputs = [side.name for side in signature.outputs]
        loaded.run(outputs, _feed(model, signature, limits), Deadline(limits.run_seconds * 1000))
    except DeadlinePassed as late:
        why = f"one run on made-up inputs takes longer than {limits.run_seconds:g} s"
        raise ModelUnreadable(model, why) from late
    except ModelFailed as failed:
        if _NO_MEMORY.search(failed.why):
            why = "one run on made-up inputs wants more memory than a trial may have"
            raise ModelUnreadable(model, why) from failed
        note = f"a trial run on made-up inputs failed: {failed.why}"
    inputs, answers = map(_tensors, (signature.inputs, signature.outputs))
    return Findings(inputs, answers, note)


def _feed(model: str, signature: ModelSignature, limits: IntakeLimits) -> dict[str, Array]:
    wanted = sum(_bytes(side) for side in signature.inputs)
    if wanted > limits.memory_bytes // 4:
        raise ModelUnreadable(model, f"its smallest input takes {wanted} bytes")
    return {side.name: _made_up(side) for side in signature.inputs}


def _shape(side: TensorInfo) -> tuple[int, ...]:
    return tuple(1 if size is None else size for size in side.shape)


def _bytes(side: TensorInfo) -> int:
    return int(np.prod(_shape(side), dtype=object)) * max(side.dtype.size, 8)


def _made_up(side: TensorInfo) -> Array:
    blank: object = "" if side.dtype.is_text else 0
    return np.full(_shape(side), blank, dtype=side.dtype.numpy)


def _tensors(sides: tuple[TensorInfo, ...]) -> tuple[Tensor, ...]:
    return tuple(
        Tensor(
            side.name,
            "BYTES" if side.dtype.is_text else side.dtype.name.upper(),
            tuple(-1 if size is None else size for size in side.shape),
        )
        for side in sides
    )
