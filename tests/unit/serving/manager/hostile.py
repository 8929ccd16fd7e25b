"""Models made to mislead or to harm, and one that is fine."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

_IR = 10


def model(
    nodes: list[Any],
    *,
    inputs: list[Any] | None = None,
    outputs: list[Any] | None = None,
    weights: list[Any] | None = None,
    opsets: dict[str, int] | None = None,
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        "g",
        [value("x")] if inputs is None else inputs,
        [value("y")] if outputs is None else outputs,
        weights or [],
    )
    imports = [helper.make_opsetid(d, v) for d, v in (opsets or {"": 20}).items()]
    return helper.make_model(graph, opset_imports=imports, ir_version=_IR)


def value(name: str, kind: int = TensorProto.FLOAT, shape: Any = ("n", 2)) -> Any:
    return helper.make_tensor_value_info(name, kind, shape)


def fine() -> onnx.ModelProto:
    return model([helper.make_node("Add", ["x", "x"], ["y"])])


def texts() -> onnx.ModelProto:
    """Strings in, numbers out."""
    labels = helper.make_node(
        "LabelEncoder", ["x"], ["y"], domain="ai.onnx.ml", keys_strings=["a"], values_int64s=[1]
    )
    return model(
        [labels],
        inputs=[value("x", TensorProto.STRING, ("n",))],
        outputs=[value("y", TensorProto.INT64, ("n",))],
        opsets={"": 20, "ai.onnx.ml": 3},
    )


def with_weights(*entries: tuple[str, str]) -> onnx.ModelProto:
    """Two floats that lie where the entries say."""
    tensor = numpy_helper.from_array(np.zeros(2, "<f4"), "w")
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, text in entries:
        tensor.external_data.add(key=key, value=text)
    return model([helper.make_node("Add", ["x", "w"], ["y"])], weights=[tensor])


def hidden_weights() -> onnx.ModelProto:
    """The same trick, in the constant of a branch inside a branch."""
    tensor = with_weights(("location", "/etc/passwd")).graph.initializer[0]
    deepest = helper.make_graph(
        [helper.make_node("Constant", [], ["c"], value=tensor)], "d", [], [value("c")]
    )
    node = helper.make_node("If", ["b"], ["y"], then_branch=deepest, else_branch=deepest)
    inner = helper.make_graph([node], "i", [], [value("y")])
    outer = helper.make_node("If", ["b"], ["y"], then_branch=inner, else_branch=inner)
    return model([outer], inputs=[value("b", TensorProto.BOOL, ())])


def memory_bomb() -> onnx.ModelProto:
    """A few hundred bytes that ask for 160 GB."""
    shape = helper.make_tensor("s", TensorProto.INT64, [2], [200_000, 200_000])
    nodes = [
        helper.make_node("Constant", [], ["s"], value=shape),
        helper.make_node("ConstantOfShape", ["s"], ["y"]),
    ]
    return model(nodes, inputs=[], outputs=[value("y", shape=("a", "b"))])


def endless() -> onnx.ModelProto:
    """A loop of 2^62 rounds."""
    flag, number = TensorProto.BOOL, TensorProto.INT64
    body = helper.make_graph(
        [helper.make_node("Identity", ["c"], ["d"]), helper.make_node("Identity", ["v"], ["w"])],
        "b",
        [value("i", number, ()), value("c", flag, ()), value("v")],
        [value("d", flag, ()), value("w")],
    )
    nodes = [
        helper.make_node("Constant", [], ["n"], value=helper.make_tensor("n", number, [], [2**62])),
        helper.make_node("Constant", [], ["t"], value=helper.make_tensor("t", flag, [], [True])),
        helper.make_node("Loop", ["n", "t", "x"], ["y"], body=body),
    ]
    return model(nodes)


def nested(depth: int) -> onnx.ModelProto:
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "g", [], [value("y")])
    for _ in range(depth - 1):
        node = helper.make_node("If", ["b"], ["y"], then_branch=graph, else_branch=graph)
        graph = helper.make_graph([node], "g", [], [value("y")])
    return model(list(graph.node), inputs=[value("x"), value("b", TensorProto.BOOL, ())])


def long(nodes: int) -> onnx.ModelProto:
    names = ["x", *(f"n{i}" for i in range(nodes - 1)), "y"]
    return model([helper.make_node("Identity", [a], [b]) for a, b in itertools.pairwise(names)])


def picky() -> onnx.ModelProto:
    """Fine, but not for made-up values: it looks row 7 up in a table of inputs."""
    seven = helper.make_tensor("i", TensorProto.INT64, [1], [7])
    nodes = [
        helper.make_node("Constant", [], ["i"], value=seven),
        helper.make_node("Gather", ["x", "i"], ["y"]),
    ]
    return model(nodes)
