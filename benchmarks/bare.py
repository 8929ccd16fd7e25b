"""The floor: `session.run` on the very tensor the model step would hand over, on one thread."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from one_thread import one_thread_session

import inferflow
from inferflow.components.model import tensor_of
from inferflow.engine.request import ScoreRequest
from inferflow.plan.plan import ModelStep


def bare_session(project: Path) -> Any:
    return one_thread_session(project / "models" / "ranker" / "1" / "model.onnx")


def tensor_for(flow: inferflow.Flow, request: ScoreRequest) -> Any:
    """What the model step hands to the model for this request."""
    _, recording = flow.record(request)
    step = next(step for step in recording.plan.steps if isinstance(step, ModelStep))
    assert recording.matrix is not None
    return tensor_of(step.arms[0].tensors[0], recording.matrix, None)
