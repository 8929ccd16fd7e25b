"""The ONNX runtime: the `Runtime` port over ONNX Runtime sessions."""

from __future__ import annotations

from pathlib import Path

from inferflow.serving.runtime.port import LoadedModel, LoadOptions
from inferflow.serving.runtime.quantised import Quantiser
from inferflow.serving.runtime.repository import ModelFile
from inferflow.serving.runtime.session import load_session
from inferflow.serving.runtime.watchdog import Watchdog


class OnnxRuntime:
    """Loads ONNX models; one watchdog stops the runs of all of them."""

    def __init__(self, *, cache: Path, load_limit_s: float = 120.0) -> None:
        """`cache` is where quantised copies are kept."""
        self._watchdog = Watchdog()
        self._quantiser = Quantiser(cache)
        self._load_limit_s = load_limit_s

    def load(self, file: ModelFile, options: LoadOptions) -> LoadedModel:
        return load_session(
            file,
            watchdog=self._watchdog,
            load_limit_s=self._load_limit_s,
            options=options,
            path=self._quantiser.quantised(file) if options.quantise else None,
        )

    def stop_runs(self) -> None:
        self._watchdog.stop_all()

    def close(self) -> None:
        self._watchdog.close()
