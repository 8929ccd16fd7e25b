"""A model that never ends by itself."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from .worker import side


@pytest.fixture
def endless() -> bytes:
    """A loop of 2**62 rounds."""
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["on"], ["still_on"]),
            helper.make_node("Add", ["v", "one"], ["v_next"]),
        ],
        "body",
        [
            side("i", TensorProto.INT64, []),
            side("on", TensorProto.BOOL, []),
            side("v", TensorProto.FLOAT, None),
        ],
        [side("still_on", TensorProto.BOOL, []), side("v_next", shape=None)],
        [numpy_helper.from_array(np.array(1, np.float32), "one")],
    )
    constants = [
        numpy_helper.from_array(np.array(2**62), "rounds"),
        numpy_helper.from_array(np.array(True), "always"),
    ]
    loop = helper.make_node("Loop", ["rounds", "always", "x"], ["y"], body=body)
    graph = helper.make_graph([loop], "g", [side("x")], [side("y")], initializer=constants)
    opsets = [helper.make_opsetid("", 19)]
    content: bytes = helper.make_model(
        graph, opset_imports=opsets, ir_version=9
    ).SerializeToString()
    return content
