"""Requests to one model over the Open Inference Protocol: the tensors, and the bytes to send."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import numpy as np
from one_thread import one_thread_session

from inferflow.client.load import Call
from inferflow.client.oip.answer import read_all
from inferflow.client.oip.request import InferRequest

INFER = "/inference.GRPCInferenceService/ModelInfer"
DISTINCT = 20
"""Different requests taken in turn."""
_START_S = 60.0


@dataclass(frozen=True)
class Work:
    """The requests of one size to a model with one input."""

    model: str
    rows: int
    session: Any
    feeds: tuple[dict[str, Any], ...]
    calls: tuple[Call, ...]


def work_for(models: Path, model: str, rows: int) -> Work:
    session = one_thread_session(models / model / "1" / "model.onnx")
    (side,) = session.get_inputs()
    rng = np.random.default_rng(rows)
    tensors = [rng.random((rows, *side.shape[1:]), np.float32) for _ in range(DISTINCT)]
    asked = InferRequest(model, None, [side.name], [])
    return Work(
        model,
        rows,
        session,
        tuple({side.name: tensor} for tensor in tensors),
        tuple(Call(INFER, asked.of([tensor])) for tensor in tensors),
    )


def await_right_answer(target: str, work: Work) -> None:
    """Until the server is up; its answer must be the bare model's."""
    (wanted,) = work.session.run(None, work.feeds[0])
    with grpc.insecure_channel(target) as channel:
        (got,) = read_all(_first_answer(channel, work.calls[0].body)).values()
    np.testing.assert_allclose(got, wanted, rtol=1e-5, err_msg=f"{target} answers otherwise")


def _first_answer(channel: grpc.Channel, body: bytes) -> bytes:
    infer = channel.unary_unary(INFER)
    gives_up = time.monotonic() + _START_S
    while True:
        try:
            answer: bytes = infer(body, timeout=_START_S, wait_for_ready=True)
            return answer
        except grpc.RpcError:  # it listens before its model is there
            if time.monotonic() > gives_up:
                raise
            time.sleep(0.1)
