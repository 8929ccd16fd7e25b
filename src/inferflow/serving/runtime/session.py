"""One loaded model. Knows ONNX Runtime.

A session runs on the calling thread unless told otherwise and never spins. Every run can be
stopped at its deadline; it ends between two operators, so one very long operator overruns.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inferflow.dtypes import (
    BOOL,
    FP16,
    FP32,
    FP64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    Array,
    DType,
)
from inferflow.engine.deadline import Deadline
from inferflow.errors import DeadlinePassed, ModelFailed, ModelUnreadable
from inferflow.plan.catalog import ModelSignature, TensorInfo
from inferflow.serving.runtime.complaints import foreign_format, load_complaint, run_complaint
from inferflow.serving.runtime.port import LoadOptions
from inferflow.serving.runtime.providers import provider_list
from inferflow.serving.runtime.repository import ModelFile
from inferflow.serving.runtime.vendor import import_onnxruntime
from inferflow.serving.runtime.watchdog import Watchdog

_SILENT = 4
"""Log severity 'fatal': errors reach the caller as exceptions, not as lines on stderr."""

_TENSORS: dict[str, DType] = {
    "tensor(float)": FP32,
    "tensor(double)": FP64,
    "tensor(float16)": FP16,
    "tensor(int8)": INT8,
    "tensor(int16)": INT16,
    "tensor(int32)": INT32,
    "tensor(int64)": INT64,
    "tensor(uint8)": UINT8,
    "tensor(uint16)": UINT16,
    "tensor(uint32)": UINT32,
    "tensor(uint64)": UINT64,
    "tensor(bool)": BOOL,
    "tensor(string)": STRING,
}

_NO_CONTAINERS = (
    "export plain tensors; for scikit-learn and its relatives pass options={'zipmap': False}"
)


class OnnxSession:
    """A model in memory. Safe to run from several threads at once."""

    __slots__ = (
        "_free",
        "_label",
        "_new_options",
        "_run",
        "_watchdog",
        "computes_here",
        "signature",
    )

    platform = "onnxruntime_onnx"

    def __init__(
        self, vendor: Any, signature: ModelSignature, watchdog: Watchdog, *, computes_here: bool
    ) -> None:
        self.signature = signature
        self.computes_here = computes_here
        self._label = f"{signature.model}@{signature.version}"
        self._run = vendor.run
        self._new_options = import_onnxruntime().RunOptions
        self._free: list[Any] = []
        """Options nobody uses at the moment: making them takes as long as a small run."""
        self._watchdog = watchdog

    def run(
        self, outputs: Sequence[str], feed: dict[str, Array], deadline: Deadline
    ) -> Sequence[Array]:
        """The named outputs for one feed. Raises ModelFailed or DeadlinePassed."""
        seconds = deadline.remaining_s()
        if seconds <= 0:
            raise DeadlinePassed(f"model {self._label!r}", deadline.budget_ms)
        options = self._options()
        armed = None
        if seconds != math.inf:
            stop = functools.partial(setattr, options, "terminate", True)
            armed = self._watchdog.arm(seconds, stop)
        try:
            answer: Sequence[Array] = self._run(outputs, feed, options)
            return answer
        except Exception as failed:  # the vendor's errors share no base class of their own
            if options.terminate:
                raise DeadlinePassed(f"model {self._label!r}", deadline.budget_ms) from None
            raise ModelFailed(self._label, run_complaint(failed)) from failed
        finally:
            # Options the watchdog has stopped, or is about to stop, are never used again.
            if armed is None or self._watchdog.disarm(armed):
                self._free.append(options)

    def _options(self) -> Any:
        try:
            return self._free.pop()
        except IndexError:  # as many runs at once as never before
            options = self._new_options()
            options.log_severity_level = _SILENT
            return options


def load_session(
    file: ModelFile,
    *,
    watchdog: Watchdog,
    load_limit_s: float,
    options: LoadOptions | None = None,
    path: Path | None = None,
) -> OnnxSession:
    """Load a model and read its signature; from `path`, where that is not the file itself.

    Raises ModelUnreadable, or InvalidInput for a provider this machine does not have.
    """
    onnxruntime = import_onnxruntime()
    options = options or LoadOptions()
    path = path or file.path
    _refuse_foreign(file)
    providers = provider_list(options, onnxruntime.get_available_providers())
    chosen = _session_options(onnxruntime, options)
    armed = watchdog.arm(load_limit_s, lambda: chosen.set_load_cancellation_flag(True))
    try:
        # Its fallback would print to stdout and try the same again.
        vendor = onnxruntime.InferenceSession(
            str(path), chosen, providers=providers, enable_fallback=0
        )
    except Exception as failed:  # the vendor's errors share no base class of their own
        why, hint = load_complaint(failed, path)
        if type(failed).__name__ == "ModelLoadCanceled":
            why = f"loading did not finish within {load_limit_s:.0f} s"
        raise ModelUnreadable(file.label, f"{file.where}: {why}", hint) from failed
    finally:
        watchdog.disarm(armed)
    _refuse_missing_providers(vendor.get_providers(), [name for name, _ in providers], file)
    computes_here = len(providers) == options.intra_threads == options.inter_threads == 1
    return OnnxSession(vendor, _signature(vendor, file), watchdog, computes_here=computes_here)


def _refuse_missing_providers(
    started: Sequence[str], wanted: Sequence[str], file: ModelFile
) -> None:
    """The vendor goes on without a provider whose libraries it does not find."""
    for name in wanted:
        if name not in started:
            hint = "are the libraries it needs installed, and in the versions it needs?"
            raise ModelUnreadable(file.label, f"{name} could not be started", hint)


def _refuse_foreign(file: ModelFile) -> None:
    try:
        with open(file.path, "rb") as opened:
            head = opened.read(64)
    except OSError as failed:
        why = f"{file.where}: {failed.strerror or failed}"
        raise ModelUnreadable(file.label, why) from failed
    foreign = foreign_format(head)
    if foreign:
        raise ModelUnreadable(file.label, f"{file.where}: {foreign[0]}", foreign[1])


def _session_options(onnxruntime: Any, wanted: LoadOptions) -> Any:
    levels = onnxruntime.GraphOptimizationLevel
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = {
        "off": levels.ORT_DISABLE_ALL,
        "basic": levels.ORT_ENABLE_BASIC,
        "extended": levels.ORT_ENABLE_EXTENDED,
        "all": levels.ORT_ENABLE_ALL,
    }[wanted.optimise]
    options.intra_op_num_threads = wanted.intra_threads
    options.inter_op_num_threads = wanted.inter_threads
    options.execution_mode = (
        onnxruntime.ExecutionMode.ORT_SEQUENTIAL
        if wanted.inter_threads == 1
        else onnxruntime.ExecutionMode.ORT_PARALLEL
    )
    options.log_severity_level = _SILENT
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.add_session_config_entry("session.inter_op.allow_spinning", "0")
    return options


def _signature(vendor: Any, file: ModelFile) -> ModelSignature:
    try:
        inputs = tuple(_tensor(side, "input", file) for side in vendor.get_inputs())
        outputs = tuple(_tensor(side, "output", file) for side in vendor.get_outputs())
    except UnicodeDecodeError as failed:
        why = f"{file.where}: the names of its inputs or outputs are damaged"
        raise ModelUnreadable(file.label, why) from failed
    if not outputs:
        raise ModelUnreadable(file.label, f"{file.where}: it has no outputs")
    return ModelSignature(file.model, file.version, inputs, outputs, file.digest)


def _tensor(side: Any, role: str, file: ModelFile) -> TensorInfo:
    dtype = _TENSORS.get(side.type)
    if dtype is None:
        is_container = not side.type.startswith("tensor(")
        hint = _NO_CONTAINERS if is_container else "cast it to a plain type inside the model"
        why = f"{file.where}: {role} {side.name!r} is a {side.type}"
        raise ModelUnreadable(file.label, why, hint)
    sizes = (size if isinstance(size, int) and size >= 0 else None for size in side.shape)
    return TensorInfo(side.name, dtype, tuple(sizes))
