"""A real `inferflow worker`, small models for it, and calls to it."""

from __future__ import annotations

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import grpc
import numpy as np
from onnx import TensorProto, helper, numpy_helper

from inferflow._proto.pool import message_class

from . import role_process
from .role_process import Process

INFER = "/inference.GRPCInferenceService/ModelInfer"

Request = message_class("inference.ModelInferRequest")
Response = message_class("inference.ModelInferResponse")


@dataclass
class WorkerProcess(Process):
    def __post_init__(self) -> None:
        self.channel = grpc.insecure_channel(f"127.0.0.1:{self.port}")

    def infer(self, model: str, *values: float, timeout: float = 30, **facts: Any) -> Any:
        """One row per value, both of its columns the same; the first output's first column."""
        answer = Response.FromString(
            self.channel.unary_unary(INFER)(asking(model, *values, **facts), timeout=timeout)
        )
        raw = np.frombuffer(answer.raw_output_contents[0], np.float32)
        return raw.reshape(len(values), -1)[:, 0].tolist()

    def refused(self, model: str, *values: float, **facts: Any) -> tuple[str, str]:
        try:
            answer = self.infer(model, *values, **facts)
        except grpc.RpcError as failed:
            return failed.code().name, failed.details()
        raise AssertionError(f"answered: {answer}")

    def call(self, method: str, **fields: Any) -> Any:
        request = message_class(f"inference.{method}Request")(**fields)
        path = f"/inference.GRPCInferenceService/{method}"
        answer = self.channel.unary_unary(path)(request.SerializeToString(), timeout=30)
        return message_class(f"inference.{method}Response").FromString(answer)

    def metric(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples that have these labels."""
        total = 0.0
        for line in self.get("/metrics")[1].decode().splitlines():
            if line.startswith(f"{name}{{") and all(
                f'{k}="{v}"' in line for k, v in labels.items()
            ):
                total += float(line.rpartition(" ")[2])
        return total

    def close(self) -> None:
        self.channel.close()
        super().close()


def asking(
    model: str, *values: float, version: str = "", priority: int = 0, timeout_us: int = 0
) -> bytes:
    request = Request(model_name=model, model_version=version)
    request.inputs.add(name="x", datatype="FP32", shape=[len(values), 2])
    rows = np.array([[each, each] for each in values], np.float32)
    request.raw_input_contents.append(rows.tobytes())
    if priority:
        request.parameters["priority"].uint64_param = priority
    if timeout_us:
        request.parameters["timeout"].int64_param = timeout_us
    body: bytes = request.SerializeToString()
    return body


def launch(folder: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return role_process.launch("worker", str(folder), *arguments, **environment)


def start(folder: Path, *arguments: str, port: int = 0, **environment: str) -> WorkerProcess:
    ports = ("--port", str(port), "--http-port", "0")
    return WorkerProcess.ready(launch(folder, *ports, *arguments, **environment), "ready, .*")


# --- models ---------------------------------------------------------------------------------


def put(folder: Path, model: str, content: bytes, version: str = "1") -> Path:
    file = folder / "models" / model / version / "model.onnx"
    file.parent.mkdir(parents=True, exist_ok=True)
    aside = folder / ".incoming"
    aside.write_bytes(content)
    os.replace(aside, file)
    return file


def _side(name: str, kind: int = TensorProto.FLOAT, shape: Any = ("N", 2)) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def _model(nodes: Any, inputs: Any, outputs: Any, constants: Any = ()) -> bytes:
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializer=list(constants))
    opsets = [helper.make_opsetid("", 19)]
    content: bytes = helper.make_model(
        graph, opset_imports=opsets, ir_version=9
    ).SerializeToString()
    return content


def scale(factor: float, *, ballast: int = 0) -> bytes:
    """y = x · factor and z = −y; with so many bytes of weights that change nothing."""
    nodes = [
        helper.make_node("Mul", ["x", "factor"], ["y"]),
        helper.make_node("Neg", ["y"], ["z"]),
    ]
    constants = [numpy_helper.from_array(np.array(factor, np.float32), "factor")]
    outputs = [_side("y"), _side("z")]
    if ballast:
        constants.append(numpy_helper.from_array(np.ones(ballast // 4, np.float32), "ballast"))
        nodes.append(helper.make_node("ReduceMax", ["ballast"], ["w"], keepdims=0))
        outputs.append(_side("w", shape=[]))
    return _model(nodes, [_side("x")], outputs, constants)


def echo() -> bytes:
    """Texts come back."""
    node = helper.make_node("Identity", ["x"], ["y"])
    sides = [_side(name, TensorProto.STRING, ["N"]) for name in "xy"]
    return _model([node], sides[:1], sides[1:])


def halves() -> bytes:
    """Half floats come back."""
    node = helper.make_node("Identity", ["x"], ["y"])
    sides = [_side(name, TensorProto.FLOAT16) for name in "xy"]
    return _model([node], sides[:1], sides[1:])


def dense(width: int = 256) -> bytes:
    """y = (x · U) · V, with enough weights to quantise."""
    dice = np.random.default_rng(3)
    weights = [
        numpy_helper.from_array(dice.standard_normal(shape).astype(np.float32), name)
        for name, shape in (("u", (2, width)), ("v", (width, 2)))
    ]
    nodes = [
        helper.make_node("MatMul", ["x", "u"], ["h"]),
        helper.make_node("MatMul", ["h", "v"], ["y"]),
    ]
    return _model(nodes, [_side("x")], [_side("y")], weights)


def rounds() -> bytes:
    """Loops as many times as the first value says, adding 1 each time to every value."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["on"], ["still_on"]),
            helper.make_node("Add", ["v", "one"], ["v_next"]),
        ],
        "body",
        [
            _side("i", TensorProto.INT64, []),
            _side("on", TensorProto.BOOL, []),
            _side("v", TensorProto.FLOAT, None),
        ],
        [_side("still_on", TensorProto.BOOL, []), _side("v_next", shape=None)],
        [numpy_helper.from_array(np.array(1, np.float32), "one")],
    )
    constants = [
        numpy_helper.from_array(np.array(True), "always"),
        numpy_helper.from_array(np.array([0, 0]), "first"),
    ]
    nodes = [
        helper.make_node("GatherND", ["x", "first"], ["count"]),
        helper.make_node("Cast", ["count"], ["rounds"], to=TensorProto.INT64),
        helper.make_node("Loop", ["rounds", "always", "x"], ["y"], body=body),
    ]
    return _model(nodes, [_side("x")], [_side("y")], constants)
