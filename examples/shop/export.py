"""The demo's models as ONNX: one float32 input, one float32 output, nothing else.

Each file says in its metadata which columns it was trained on, in the order of its input.
"""

from __future__ import annotations

from collections.abc import Sequence

import lightgbm
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from onnxmltools.convert import convert_lightgbm
from onnxmltools.convert.common.data_types import FloatTensorType

from shop.network import Weights

OPSET = 15  # the highest the tree converter knows
IR_VERSION = 8
FLOAT = TensorProto.FLOAT


def trees_to_onnx(booster: lightgbm.Booster, output: str) -> onnx.ModelProto:
    """A binary classifier as trees followed by a sigmoid.

    Converted as a classifier it would come with a label and a probability per class; the same
    trees read as a regression give the one number wanted, before the sigmoid.
    """
    text = booster.model_to_string()
    for written, read_as in (
        ("objective=binary sigmoid:1", "objective=regression"),
        ("[objective: binary]", "[objective: regression]"),
    ):
        text = text.replace(written, read_as)
    width = booster.num_feature()
    converted = convert_lightgbm(
        lightgbm.Booster(model_str=text),
        initial_types=[("features", FloatTensorType([None, width]))],
        target_opset=OPSET,
    )
    (trees,) = (node for node in converted.graph.node if node.op_type == "TreeEnsembleRegressor")
    sigmoid = helper.make_node("Sigmoid", [trees.output[0]], [output])
    return _model([trees, sigmoid], ("features", ["rows", width]), (output, ["rows", 1]), [])


def pair_to_onnx(weights: Weights, width: int, output: str) -> onnx.ModelProto:
    """Input: the first item's features, the second's, then the pair's own."""
    own = len(weights.extra)
    nodes = [
        helper.make_node("Split", ["features", "widths"], ["first", "second", "pair"], axis=1),
        helper.make_node("Gemm", ["first", "inner", "shift"], ["first_inner"]),
        helper.make_node("Tanh", ["first_inner"], ["first_hidden"]),
        helper.make_node("Gemm", ["second", "inner", "shift"], ["second_inner"]),
        helper.make_node("Tanh", ["second_inner"], ["second_hidden"]),
        helper.make_node("Sub", ["first_hidden", "second_hidden"], ["difference"]),
        helper.make_node("Concat", ["difference", "pair"], ["compared"], axis=1),
        helper.make_node("Gemm", ["compared", "outer", "bias"], ["logit"]),
        helper.make_node("Sigmoid", ["logit"], [output]),
    ]
    constants = [
        _constant("widths", np.array([width, width, own], dtype=np.int64)),
        _constant("outer", np.concatenate([weights.outer, weights.extra])[:, None]),
        *_first_layer(weights),
    ]
    return _model(
        nodes, ("features", ["pairs", 2 * width + own]), (output, ["pairs", 1]), constants
    )


def slate_to_onnx(weights: Weights, width: int, output: str) -> onnx.ModelProto:
    """Input: slates × items × features. What counts is the mean and the variance over items."""
    nodes = [
        helper.make_node("ReduceMean", ["features"], ["kept_mean"], axes=[1], keepdims=1),
        helper.make_node("Sub", ["features", "kept_mean"], ["off"]),
        helper.make_node("Mul", ["off", "off"], ["square"]),
        helper.make_node("ReduceMean", ["square"], ["variance"], axes=[1], keepdims=0),
        helper.make_node("ReduceMean", ["features"], ["mean"], axes=[1], keepdims=0),
        helper.make_node("Concat", ["mean", "variance"], ["pooled"], axis=1),
        helper.make_node("Gemm", ["pooled", "inner", "shift"], ["inner_sum"]),
        helper.make_node("Tanh", ["inner_sum"], ["hidden"]),
        helper.make_node("Gemm", ["hidden", "outer", "bias"], ["logit"]),
        helper.make_node("Sigmoid", ["logit"], [output]),
    ]
    constants = [_constant("outer", weights.outer[:, None]), *_first_layer(weights)]
    return _model(
        nodes, ("features", ["slates", "items", width]), (output, ["slates", 1]), constants
    )


def pooled(items: np.ndarray) -> np.ndarray:
    """What the slate model makes of slates × items × features before its network."""
    return np.concatenate([items.mean(axis=1), items.var(axis=1)], axis=1)


def to_bytes(model: onnx.ModelProto, columns: Sequence[str]) -> bytes:
    """The checked model file, with the names of the columns it reads."""
    helper.set_model_props(model, {"columns": ",".join(columns)})
    onnx.checker.check_model(model, full_check=True)
    return model.SerializeToString(deterministic=True)


def _first_layer(weights: Weights) -> list[TensorProto]:
    return [
        _constant("inner", weights.inner),
        _constant("shift", weights.shift),
        _constant("bias", weights.bias),
    ]


def _constant(name: str, values: np.ndarray) -> TensorProto:
    kept = values if values.dtype == np.int64 else values.astype(np.float32)
    return numpy_helper.from_array(kept, name)


def _model(
    nodes: Sequence[onnx.NodeProto],
    source: tuple[str, list[str | int]],
    output: tuple[str, list[str | int]],
    constants: Sequence[TensorProto],
) -> onnx.ModelProto:
    graph = helper.make_graph(
        nodes,
        output[0],
        [helper.make_tensor_value_info(source[0], FLOAT, source[1])],
        [helper.make_tensor_value_info(output[0], FLOAT, output[1])],
        initializer=constants,
    )
    domains = {node.domain for node in nodes}
    opsets = [helper.make_opsetid("", OPSET)]
    if "ai.onnx.ml" in domains:
        opsets.append(helper.make_opsetid("ai.onnx.ml", 1))
    return helper.make_model(
        graph, opset_imports=opsets, ir_version=IR_VERSION, producer_name="inferflow-demo"
    )
