"""What tests of remote models share: a model, its server, and runs without pauses."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from typing import Any

import numpy as np

from inferflow.client.oip.line import LineOptions
from inferflow.client.oip.runner import RemoteModels, RemoteOptions
from inferflow.engine.deadline import Deadline
from inferflow.plan.catalog import Endpoint
from inferflow.testing import ManualClock

from ....servers.open_inference import InferResponse, Model, OipServer, add_output

X = np.array([[1.0], [2.5]], np.float32)


def twice() -> OipServer:
    """A server of one model that doubles its input."""
    model = Model(
        inputs=[("x", "FP32", [-1, 1])],
        outputs=[("y", "FP32", [-1, 1])],
        run=lambda x: {"y": x * 2},
    )
    return OipServer({"twice": model})


class Pauses:
    """Waits without waiting."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.taken.append(seconds)


def endpoint(address: str, model: str = "twice", version: str | None = None) -> Endpoint:
    return Endpoint(address, model, version, address)


def remote(pauses: Pauses | None = None, **more: Any) -> RemoteModels:
    options = LineOptions(
        headers=(("predator-caller-id", "test"),),
        clock=ManualClock(),
        wait=pauses or Pauses(),
        chance=lambda: 1.0,
    )
    return RemoteModels(RemoteOptions(options, **more))


def ran(models: RemoteModels, where: Endpoint, *, budget_ms: float | None = 5_000) -> Any:
    """The output of one run on X."""
    prepared = models.prepare(where, ("x",), ("y",))

    async def once() -> Any:
        [y] = await prepared.run([X], deadline=Deadline(budget_ms))
        return y

    return asyncio.run(once())


def unused_address() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def answering(datatype: str, values: Any, name: str = "y") -> Callable[[Any, Any], bytes]:
    def infer(request: Any, context: Any) -> bytes:
        answer = InferResponse(model_name=request.model_name)
        add_output(answer, name, datatype, np.asarray(values))
        done: bytes = answer.SerializeToString()
        return done

    return infer
