"""The model that `inferflow init` writes, made from its numbers.

    python tests/unit/app/starter_model.py src/inferflow/app/starter/models/like_model/1/model.onnx

A logistic regression: sigmoid(features · WEIGHTS + BIAS).
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

COLUMNS = ("books_per_year", "likes_new", "price", "rating")
WEIGHTS = (0.02, 0.1, -0.04, 1.2)
BIAS = -4.5


def starter_model() -> onnx.ModelProto:
    weights = np.array(WEIGHTS, np.float32).reshape(-1, 1)
    graph = helper.make_graph(
        [
            helper.make_node("Gemm", ["features", "weights", "bias"], ["logit"]),
            helper.make_node("Sigmoid", ["logit"], ["like"]),
        ],
        "like_model",
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, [None, len(WEIGHTS)])],
        [helper.make_tensor_value_info("like", TensorProto.FLOAT, [None, 1])],
        [
            numpy_helper.from_array(weights, "weights"),
            numpy_helper.from_array(np.array([BIAS], np.float32), "bias"),
        ],
    )
    opsets = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="inferflow")


if __name__ == "__main__":
    Path(sys.argv[1]).write_bytes(starter_model().SerializeToString())
