"""Makes the four models of this example, and the scores its sample request must give.

    python examples/ensemble/make_models.py          writes models/ and requests/eta.json
    python examples/ensemble/make_models.py --check  says whether they are what this would write

Three estimators of how long a delivery takes, each with its own idea of the world, and one that has
learnt how much to believe each of them. Their numbers are made up; real ones would be trained.
"""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = Path(__file__).parent
ORDER = ("distance_km", "items", "rush_hour")
COURIER = ("speed_kmh", "on_time", "carrying")
WIDTH = len(ORDER) + len(COURIER)

LINEAR = (np.array([3.2, 0.8, 6.0, -0.35, -4.0, 2.5], np.float32), 14.0)
DICE = np.random.default_rng(7)
HIDDEN = (DICE.uniform(0, 0.6, (WIDTH, 8)) * [[1.0], [0.5], [1.5], [-0.1], [-0.5], [1.0]]).astype(
    np.float32
)
OUT = DICE.uniform(1.5, 3.0, (8, 1)).astype(np.float32)
TREES = (  # feature, threshold, minutes when at most that, minutes when more
    (0, 2.5, 7.0, 13.0),
    (2, 0.5, 2.0, 8.5),
    (3, 16.0, 7.0, 1.5),
    (5, 1.5, 1.0, 6.0),
)
BELIEF = (np.array([0.5, 0.2, 0.3], np.float32), 0.75)


def model(nodes: list[onnx.NodeProto], width: int, constants: dict[str, np.ndarray]) -> bytes:
    graph = helper.make_graph(
        nodes,
        "minutes",
        [helper.make_tensor_value_info("features", TensorProto.FLOAT, [None, width])],
        [helper.make_tensor_value_info("minutes", TensorProto.FLOAT, [None, 1])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    made = helper.make_model(graph, opset_imports=opsets, ir_version=9, producer_name="example")
    onnx.checker.check_model(made)
    content: bytes = made.SerializeToString()
    return content


def linear(weights: np.ndarray, bias: float) -> bytes:
    node = helper.make_node("Gemm", ["features", "weights", "bias"], ["minutes"])
    constants = {"weights": weights.reshape(-1, 1), "bias": np.array([bias], np.float32)}
    return model([node], len(weights), constants)


def network() -> bytes:
    nodes = [
        helper.make_node("MatMul", ["features", "hidden"], ["h"]),
        helper.make_node("Relu", ["h"], ["r"]),
        helper.make_node("MatMul", ["r", "out"], ["minutes"]),
    ]
    return model(nodes, WIDTH, {"hidden": HIDDEN, "out": OUT})


def trees() -> bytes:
    """Each tree asks one question; their answers add up."""
    count = len(TREES)
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["features"],
        ["minutes"],
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_treeids=[tree for tree in range(count) for _ in range(3)],
        nodes_nodeids=[0, 1, 2] * count,
        nodes_featureids=[f for feature, *_ in TREES for f in (feature, 0, 0)],
        nodes_values=[v for _, threshold, *_ in TREES for v in (threshold, 0.0, 0.0)],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"] * count,
        nodes_truenodeids=[1, 0, 0] * count,
        nodes_falsenodeids=[2, 0, 0] * count,
        target_treeids=[tree for tree in range(count) for _ in range(2)],
        target_nodeids=[1, 2] * count,
        target_ids=[0] * 2 * count,
        target_weights=[minutes for *_, less, more in TREES for minutes in (less, more)],
    )
    return model([node], WIDTH, {})


def expected(rows: np.ndarray) -> dict[str, list[float]]:
    """The same in numpy, without a model file or a config."""
    by_distance = rows @ LINEAR[0] + LINEAR[1]
    by_network = (np.maximum(rows @ HIDDEN, 0) @ OUT)[:, 0]
    by_trees = sum(np.where(rows[:, f] <= at, less, more) for f, at, less, more in TREES)
    guesses = np.stack([by_distance, by_network, by_trees], axis=1)
    spread = guesses.max(axis=1) - guesses.min(axis=1)
    stacked = guesses @ BELIEF[0] + BELIEF[1]
    columns = {
        "linear_model:by_distance": by_distance,
        "network_model:by_network": by_network,
        "tree_model:by_trees": by_trees,
        "mean:minutes": guesses.mean(axis=1),
        "doubt:spread": spread,
        "stacked_model:stacked": stacked,
        "choice:score": -(stacked + 0.25 * spread),
    }
    return {name: [round(float(v), 4) for v in values] for name, values in columns.items()}


def request() -> str:
    orders, couriers = (table(name) for name in ("order.facts", "courier.profile"))
    ids = [row["courier_id"] for row in couriers]
    rows = np.array(
        [
            [float(orders[0][name]) for name in ORDER] + [float(row[name]) for name in COURIER]
            for row in couriers
        ],
        np.float32,
    )
    written = {
        "model_config_id": "eta",
        "tracking_id": "sample",
        "entities": {"order": orders[0]["order_id"], "courier": ids},
        "expect": expected(rows),
        "tolerance": 1e-3,
    }
    return json.dumps(written, indent=2) + "\n"


def table(name: str) -> list[dict[str, str]]:
    with open(HERE / "features" / f"{name}.csv", encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def files() -> dict[str, bytes]:
    made = {
        "linear_model": linear(*LINEAR),
        "network_model": network(),
        "tree_model": trees(),
        "stacked_model": linear(*BELIEF),
    }
    models = {f"models/{name}/1/model.onnx": content for name, content in made.items()}
    return {**models, "requests/eta.json": request().encode()}


def main() -> int:
    changed = [
        name
        for name, content in files().items()
        if not (HERE / name).exists() or (HERE / name).read_bytes() != content
    ]
    for name in changed:
        print(name)
        if "--check" not in sys.argv:
            (HERE / name).parent.mkdir(parents=True, exist_ok=True)
            (HERE / name).write_bytes(files()[name])
    return int(bool(changed) and "--check" in sys.argv)


if __name__ == "__main__":
    sys.exit(main())
