"""A models folder, and small ONNX models to put in it."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from inferflow.engine.deadline import Deadline
from inferflow.plan.catalog import Endpoint
from inferflow.serving.runtime import EmbeddedModels, ModelRepository

Array = np.ndarray[Any, np.dtype[Any]]


class Onnx:
    """Serialised models, each the smallest that shows one thing."""

    @staticmethod
    def graph(
        nodes: Sequence[Any],
        inputs: Sequence[Any],
        outputs: Sequence[Any],
        constants: Sequence[Any] = (),
        domains: Sequence[Any] = (),
    ) -> bytes:
        graph = helper.make_graph(nodes, "g", inputs, outputs, initializer=list(constants))
        opsets = [helper.make_opsetid("", 19), *domains]
        return helper.make_model(graph, opset_imports=opsets, ir_version=9).SerializeToString()

    @staticmethod
    def side(name: str, kind: int = TensorProto.FLOAT, shape: Any = ("N",)) -> Any:
        return helper.make_tensor_value_info(name, kind, shape)

    def scale(self, factor: float, width: int = 2) -> bytes:
        """y = x · factor, and z = −y."""
        nodes = [
            helper.make_node("Mul", ["x", "factor"], ["y"]),
            helper.make_node("Neg", ["y"], ["z"]),
        ]
        shape = ["N", width]
        sides = [self.side(name, TensorProto.FLOAT, shape) for name in "xyz"]
        constant = numpy_helper.from_array(np.array(factor, np.float32), "factor")
        return self.graph(nodes, sides[:1], sides[1:], [constant])

    def subtract(self) -> bytes:
        """c = a − b, to tell the inputs apart."""
        node = helper.make_node("Sub", ["a", "b"], ["c"])
        return self.graph([node], [self.side("a"), self.side("b")], [self.side("c")])

    def identity(self, kind: int) -> bytes:
        node = helper.make_node("Identity", ["x"], ["y"])
        return self.graph([node], [self.side("x", kind)], [self.side("y", kind)])

    def sequence(self) -> bytes:
        node = helper.make_node("SequenceConstruct", ["x"], ["y"])
        out = helper.make_tensor_sequence_value_info("y", TensorProto.FLOAT, None)
        return self.graph([node], [self.side("x")], [out])

    def endless(self) -> bytes:
        """A loop of 2**62 rounds."""
        body = helper.make_graph(
            [
                helper.make_node("Identity", ["on"], ["still_on"]),
                helper.make_node("Add", ["v", "one"], ["v_next"]),
            ],
            "body",
            [
                self.side("i", TensorProto.INT64, []),
                self.side("on", TensorProto.BOOL, []),
                self.side("v", TensorProto.FLOAT, None),
            ],
            [self.side("still_on", TensorProto.BOOL, []), self.side("v_next", shape=None)],
            [numpy_helper.from_array(np.array(1, np.float32), "one")],
        )
        rounds = numpy_helper.from_array(np.array(2**62), "rounds")
        always = numpy_helper.from_array(np.array(True), "always")
        loop = helper.make_node("Loop", ["rounds", "always", "x"], ["y"], body=body)
        return self.graph([loop], [self.side("x")], [self.side("y")], [rounds, always])

    def memory_bomb(self) -> bytes:
        """Asks for size[0] · size[1] floats."""
        nodes = [
            helper.make_node("ConstantOfShape", ["size"], ["filled"]),
            helper.make_node("ReduceSum", ["filled"], ["y"]),
        ]
        size = self.side("size", TensorProto.INT64, [2])
        return self.graph(nodes, [size], [self.side("y", shape=None)])

    def unknown_domain(self) -> bytes:
        node = helper.make_node("Surprise", ["x"], ["y"], domain="elsewhere")
        domain = helper.make_opsetid("elsewhere", 1)
        return self.graph([node], [self.side("x")], [self.side("y")], domains=[domain])

    def external(self, location: str, offset: int | None = None) -> bytes:
        """y = x · w where the two floats of w lie in another file."""
        weights = TensorProto(
            name="w", data_type=TensorProto.FLOAT, dims=[2], data_location=TensorProto.EXTERNAL
        )
        facts = {"location": location} | ({} if offset is None else {"offset": str(offset)})
        for key, value in facts.items():
            weights.external_data.add(key=key, value=value)
        node = helper.make_node("Mul", ["x", "w"], ["y"])
        return self.graph([node], [self.side("x")], [self.side("y")], [weights])


class ModelFolder:
    """A models folder under test."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def put(self, model: str, content: bytes, version: str = "1") -> Path:
        """Write a model file the way deployments should: aside, then moved into place."""
        file = self.path / model / version / "model.onnx"
        file.parent.mkdir(parents=True, exist_ok=True)
        aside = self.path / ".incoming"
        aside.write_bytes(content)
        os.replace(aside, file)
        return file


class Clock:
    """Time that moves when told to."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def onnx_file() -> Onnx:
    return Onnx()


@pytest.fixture
def folder(tmp_path: Path) -> ModelFolder:
    return ModelFolder(tmp_path / "models")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def models(folder: ModelFolder, clock: Clock) -> Iterator[EmbeddedModels]:
    folder.path.mkdir()
    opened = EmbeddedModels(ModelRepository(folder.path), idle_unload_s=60.0, clock=clock)
    yield opened
    opened.close()


@pytest.fixture
def local() -> Callable[..., Endpoint]:
    def endpoint(model: str, version: str | None = None) -> Endpoint:
        return Endpoint("local", model, version)

    return endpoint


@pytest.fixture
def run() -> Callable[..., Sequence[Array]]:
    """Drives a prepared model the way a synchronous caller does: without an event loop."""

    def drive(prepared: Any, *tensors: Array, budget_ms: float | None = None) -> Sequence[Array]:
        coroutine = prepared.run(tensors, deadline=Deadline(budget_ms))
        try:
            coroutine.send(None)
        except StopIteration as ended:
            answer: Sequence[Array] = ended.value
            return answer
        coroutine.close()
        raise AssertionError("a local model suspended")

    return drive


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The model folders ONNX Runtime was asked to load, in order."""
    import onnxruntime

    asked: list[str] = []
    original = onnxruntime.InferenceSession

    def counting(path: str, *args: Any, **named: Any) -> Any:
        asked.append(Path(path).parts[-3])
        return original(path, *args, **named)

    monkeypatch.setattr(onnxruntime, "InferenceSession", counting)
    return asked
