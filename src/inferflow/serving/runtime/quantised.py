"""Models with their weights as 8-bit integers, made once per model and kept.

The original's digest names the copy, so a changed model gets another copy and nothing is ever
served stale. A copy appears whole or not at all.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from inferflow.errors import MissingExtra, ModelUnreadable
from inferflow.serving.runtime.complaints import load_complaint
from inferflow.serving.runtime.repository import ModelFile
from inferflow.serving.runtime.vendor import import_onnxruntime


class Quantiser:
    """Keeps quantised copies in one folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def quantised(self, file: ModelFile) -> Path:
        """Where the quantised copy is, made first if need be. Raises ModelUnreadable."""
        kept = self._folder / f"{file.digest}.onnx"
        if kept.exists():
            return kept
        self._folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=self._folder) as work:
            made = Path(work) / "model.onnx"
            _quantise(file, made)
            os.replace(made, kept)
        return kept


def _quantise(file: ModelFile, to: Path) -> None:
    import_onnxruntime()
    try:
        from onnxruntime.quantization import QuantType, quantize_dynamic
    except ModuleNotFoundError as missing:
        raise MissingExtra("worker", for_what="quantisation") from missing
    try:
        quantize_dynamic(file.path, to, weight_type=QuantType.QInt8)
    except Exception as failed:  # the vendor's errors share no base class of their own
        why = load_complaint(failed, file.path)[0]
        what = f"{file.where}: it cannot be quantised: {why}"
        raise ModelUnreadable(file.label, what, "load it without quantisation") from failed
