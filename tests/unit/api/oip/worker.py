"""A worker in this process, with small real models, called over a real channel."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Coroutine, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypeVar

import grpc
import numpy as np
from onnx import TensorProto, helper

from inferflow._proto.pool import message_class
from inferflow.api.oip.access import Access
from inferflow.api.oip.service import SERVICE, InferenceService, InferPolicy
from inferflow.rpc.admission import Admission
from inferflow.rpc.server import start_server
from inferflow.serving.runtime import ModelRepository
from inferflow.serving.runtime.onnx import OnnxRuntime
from inferflow.serving.worker import FolderSource, HostPolicy, ModelHost, ModelPlan
from inferflow.serving.worker.observer import WorkerObserver

T = TypeVar("T")

Request = message_class("inference.ModelInferRequest")
Response = message_class("inference.ModelInferResponse")


def graph(nodes: list[Any], inputs: list[Any], outputs: list[Any]) -> bytes:
    made = helper.make_graph(nodes, "g", inputs, outputs)
    opsets = [helper.make_opsetid("", 19)]
    content: bytes = helper.make_model(made, opset_imports=opsets, ir_version=9).SerializeToString()
    return content


def side(name: str, kind: int = TensorProto.FLOAT, shape: Any = ("N",)) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def identity(kind: int, shape: Any = ("N",)) -> bytes:
    node = helper.make_node("Identity", ["x"], ["y"])
    return graph([node], [side("x", kind, shape)], [side("y", kind, shape)])


def subtract() -> bytes:
    """c = a − b and d = −c, to tell inputs and outputs apart."""
    nodes = [
        helper.make_node("Sub", ["a", "b"], ["c"]),
        helper.make_node("Neg", ["c"], ["d"]),
    ]
    return graph(nodes, [side("a"), side("b")], [side("c"), side("d")])


def put(folder: Path, model: str, content: bytes, version: str = "1") -> None:
    file = folder / model / version / "model.onnx"
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = folder / ".incoming"
    aside.write_bytes(content)
    os.replace(aside, file)


class Calls:
    """Calls by method name, with messages or with bytes."""

    def __init__(self, channel: grpc.aio.Channel, host: ModelHost) -> None:
        self.channel = channel
        self.host = host

    async def __call__(
        self, method: str, message: Any = None, *, metadata: Any = None, **fields: Any
    ) -> Any:
        call = self.channel.unary_unary(f"/{SERVICE}/{method}")
        if message is None:
            message = message_class(f"inference.{method}Request")(**fields)
        body = message if isinstance(message, bytes) else message.SerializeToString()
        answer = await call(body, timeout=20, metadata=metadata)
        return message_class(f"inference.{method}Response").FromString(answer)

    async def refused(self, method: str, message: Any = None, **fields: Any) -> tuple[str, str]:
        """The status and the text of a call that fails."""
        try:
            answer = await self(method, message, **fields)
        except grpc.aio.AioRpcError as failed:
            return failed.code().name, failed.details() or ""
        raise AssertionError(f"answered: {answer}")


@asynccontextmanager
async def serving(
    folder: Path,
    *,
    plan: ModelPlan | None = None,
    policy: HostPolicy | None = None,
    infer: InferPolicy | None = None,
    access: Access | None = None,
    admission: Admission | None = None,
    observer: WorkerObserver | None = None,
) -> AsyncIterator[Calls]:
    host = ModelHost(
        FolderSource(ModelRepository(folder)),
        OnnxRuntime(cache=folder / ".cache"),
        policy=policy,
        plan_for=lambda _: plan or ModelPlan(),
        observer=observer,
    )
    await host.refresh()
    service = InferenceService(
        host,
        admission=admission or Admission(100),
        policy=infer,
        access=access,
        observer=observer,
    )
    server = await start_server(service.handlers(), services=(SERVICE,))
    try:
        async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
            yield Calls(channel, host)
    finally:
        await server.stop()
        await host.close()


def request(model: str = "m", *, raw: bool = True, **tensors: tuple[str, Any, bytes]) -> Any:
    """A request whose tensors are (datatype, shape, bytes)."""
    made = Request(model_name=model)
    for name, (datatype, shape, data) in tensors.items():
        made.inputs.add(name=name, datatype=datatype, shape=shape)
        if raw:
            made.raw_input_contents.append(data)
    return made


def floats(*values: float) -> tuple[str, list[int], bytes]:
    return "FP32", [len(values)], np.array(values, "<f4").tobytes()


def answered(response: Any) -> Mapping[str, list[float]]:
    """FP32 outputs by name."""
    return {
        tensor.name: np.frombuffer(raw, "<f4").tolist()
        for tensor, raw in zip(response.outputs, response.raw_output_contents, strict=True)
    }


def run(main: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(asyncio.wait_for(main, 60))
