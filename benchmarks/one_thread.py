"""A model in ONNX Runtime as every server here runs it: one thread, no spinning.

Other servers' environments import this file, so it needs nothing but ONNX Runtime.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any


def one_thread_session(model: Path) -> Any:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    return onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
