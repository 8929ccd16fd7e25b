"""A server of the Open Inference Protocol that does as it is told.

It reads and writes with the declared messages and numpy alone, so that it shares nothing with the
code it is there to test. Runs on threads, without an event loop.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc
import ml_dtypes
import numpy as np

from inferflow._proto.pool import message_class
from inferflow.engine.deadline import Deadline
from inferflow.engine.scorer import finish
from inferflow.plan.catalog import Endpoint, TensorInfo
from inferflow.serving.runtime import EmbeddedModels

InferRequest = message_class("inference.ModelInferRequest")
InferResponse = message_class("inference.ModelInferResponse")
StreamResponse = message_class("inference.ModelStreamInferResponse")
MetadataRequest = message_class("inference.ModelMetadataRequest")
MetadataResponse = message_class("inference.ModelMetadataResponse")

KINDS: dict[str, Any] = {
    "BOOL": np.bool_,
    "UINT8": np.uint8,
    "UINT16": np.uint16,
    "UINT32": np.uint32,
    "UINT64": np.uint64,
    "INT8": np.int8,
    "INT16": np.int16,
    "INT32": np.int32,
    "INT64": np.int64,
    "FP16": np.float16,
    "BF16": ml_dtypes.bfloat16,
    "FP32": np.float32,
    "FP64": np.float64,
}

Tensor = tuple[str, str, Sequence[int]]
"""Name, datatype, shape; -1 is a free size."""
Run = Callable[..., Mapping[str, Any]]
"""Takes one array per input by name, gives one per output by name."""
Infer = Callable[[Any, Any], bytes]
"""A parsed request and the call's context as the bytes of an answer."""


@dataclass
class Model:
    inputs: Sequence[Tensor]
    outputs: Sequence[Tensor]
    run: Run
    versions: Sequence[str] = ("1",)
    version: str = "1"
    """The one that answers when none is asked for."""


@dataclass
class OipServer:
    """What a test may look at and change while it runs."""

    models: dict[str, Model] = field(default_factory=dict)
    requests: list[Any] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    infer: Infer | None = None
    """Answers in place of the models."""
    stream: Callable[[Iterator[bytes], Any], Iterator[bytes]] | None = None
    """Answers streams in place of `infer` and the models."""
    metadata_code: grpc.StatusCode | None = None
    """Refuses to tell what models take."""
    address: str = ""
    port: int = 0

    def on_infer(self, body: bytes, context: Any) -> bytes:
        request = InferRequest.FromString(body)
        self.requests.append(request)
        self.headers.append(dict(context.invocation_metadata()))
        if self.infer is not None:
            return self.infer(request, context)
        model = self.models.get(request.model_name)
        if model is None:
            context.abort(grpc.StatusCode.NOT_FOUND, f"no model {request.model_name!r}")
        return answered(request, model)

    def on_stream(self, bodies: Iterator[bytes], context: Any) -> Iterator[bytes]:
        if self.stream is not None:
            yield from self.stream(bodies, context)
        for body in bodies:
            answer = InferResponse.FromString(self.on_infer(body, context))
            yield StreamResponse(infer_response=answer).SerializeToString()

    def on_metadata(self, body: bytes, context: Any) -> bytes:
        request = MetadataRequest.FromString(body)
        if self.metadata_code is not None:
            context.abort(self.metadata_code, "not told")
        model = self.models.get(request.name)
        if model is None:
            context.abort(grpc.StatusCode.NOT_FOUND, f"no model {request.name!r}")
        answer = MetadataResponse(name=request.name, versions=model.versions, platform="test")
        for given, told in ((model.inputs, answer.inputs), (model.outputs, answer.outputs)):
            for name, datatype, shape in given:
                told.add(name=name, datatype=datatype, shape=shape)
        done: bytes = answer.SerializeToString()
        return done


def answered(request: Any, model: Model) -> bytes:
    """The answer of a model that is fine."""
    tensors = {
        tensor.name: decoded(raw, tensor.datatype, tensor.shape)
        for tensor, raw in zip(request.inputs, request.raw_input_contents, strict=True)
    }
    found = model.run(**tensors)
    answer = InferResponse(
        model_name=request.model_name,
        model_version=request.model_version or model.version,
        id=request.id,
    )
    wanted = [output.name for output in request.outputs]
    for name, datatype, _ in model.outputs:
        if not wanted or name in wanted:
            add_output(answer, name, datatype, found[name])
    done: bytes = answer.SerializeToString()
    return done


def add_output(answer: Any, name: str, datatype: str, values: Any) -> None:
    array = np.asarray(values)
    answer.outputs.add(name=name, datatype=datatype, shape=array.shape)
    answer.raw_output_contents.append(encoded(array, datatype))


def decoded(raw: bytes, datatype: str, shape: Sequence[int]) -> Any:
    if datatype != "BYTES":
        return np.frombuffer(raw, KINDS[datatype]).reshape(shape)
    texts, at = [], 0
    while at < len(raw):
        size = int.from_bytes(raw[at : at + 4], "little")
        texts.append(raw[at + 4 : at + 4 + size].decode())
        at += 4 + size
    return np.array(texts, object).reshape(shape)


def encoded(values: Any, datatype: str) -> bytes:
    if datatype != "BYTES":
        return bytes(values.astype(KINDS[datatype]).tobytes())
    parts = [text.encode() for text in values.ravel().tolist()]
    return b"".join(len(part).to_bytes(4, "little") + part for part in parts)


@contextmanager
def serving(server: OipServer | None = None, *, port: int = 0) -> Iterator[OipServer]:
    """Listens on a free port of this machine until the block is left."""
    server = server or OipServer()
    handlers = {
        "ModelInfer": grpc.unary_unary_rpc_method_handler(server.on_infer),
        "ModelStreamInfer": grpc.stream_stream_rpc_method_handler(server.on_stream),
        "ModelMetadata": grpc.unary_unary_rpc_method_handler(server.on_metadata),
    }
    listening = grpc.server(ThreadPoolExecutor(8), options=(("grpc.so_reuseport", 0),))
    listening.add_generic_rpc_handlers(
        (grpc.method_handlers_generic_handler("inference.GRPCInferenceService", handlers),)
    )
    server.port = listening.add_insecure_port(f"127.0.0.1:{port}")
    server.address = f"127.0.0.1:{server.port}"
    listening.start()
    try:
        yield server
    finally:
        stopped: threading.Event = listening.stop(None)
        stopped.wait()


def models_of(models: EmbeddedModels) -> dict[str, Model]:
    """The models of this process, for a server to answer with."""
    return {name: _served(models, name) for name in models.model_names()}


def _served(models: EmbeddedModels, name: str) -> Model:
    endpoint = Endpoint("", name, None)
    signature = models.signature(endpoint)
    assert signature is not None
    inputs, outputs = (
        [_described(info) for info in side] for side in (signature.inputs, signature.outputs)
    )
    prepared = models.prepare(endpoint, tuple(t[0] for t in inputs), tuple(t[0] for t in outputs))

    def run(**tensors: Any) -> dict[str, Any]:
        given = [tensors[name] for name, _, _ in inputs]
        answer = finish(prepared.run(given, deadline=Deadline(None)))
        return {output[0]: array for output, array in zip(outputs, answer, strict=True)}

    return Model(inputs, outputs, run, (signature.version,), signature.version)


def _described(info: TensorInfo) -> Tensor:
    [datatype] = [name for name, kind in KINDS.items() if np.dtype(kind) == info.dtype.numpy]
    return info.name, datatype, [-1 if size is None else size for size in info.shape]
