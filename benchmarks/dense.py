"""A model worth batching: two wide layers, whose weights are read from memory once per run."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

NAME = "dense"
_FEATURES, _WIDTH = 256, 3072


def write_dense_model(models: Path) -> None:
    """About 40 MB of weights: a run on one row takes a millisecond or more."""
    rng = np.random.default_rng(1)
    sizes = (_FEATURES, _WIDTH, _WIDTH, 1)
    nodes, weights, upstream = [], [], "features"
    for at, (narrow, wide) in enumerate(pairwise(sizes)):
        values = rng.normal(size=(narrow, wide), scale=narrow**-0.5).astype(np.float32)
        weights.append(numpy_helper.from_array(values, f"w{at}"))
        nodes.append(helper.make_node("MatMul", [upstream, f"w{at}"], [f"h{at}"]))
        last = at == len(sizes) - 2
        upstream = "score" if last else f"r{at}"
        nodes.append(helper.make_node("Sigmoid" if last else "Relu", [f"h{at}"], [upstream]))
    features = helper.make_tensor_value_info("features", TensorProto.FLOAT, ["rows", _FEATURES])
    score = helper.make_tensor_value_info("score", TensorProto.FLOAT, ["rows", 1])
    graph = helper.make_graph(nodes, NAME, [features], [score], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)
    folder = models / NAME / "1"
    folder.mkdir(parents=True)
    onnx.save(model, folder / "model.onnx")
