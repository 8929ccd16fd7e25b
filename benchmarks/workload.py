"""The reference workload, made from a seed: one user, N products, 40 features over user, product
and user × category (a derived key), a ranker of 100 trees, one compute step, two answers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import yaml
from onnx import TensorProto, helper

import inferflow
from inferflow.featurestore import import_table

USERS, PRODUCTS, CATEGORIES = 500, 20_000, 50
USER, PRODUCT, CROSS = (
    [f"u{i}" for i in range(10)],
    ["category_id", *(f"p{i}" for i in range(19))],
    [f"x{i}" for i in range(10)],
)
TREES, DEPTH = 100, 5

COLUMNS = [
    *(f"user:profile:{name}" for name in USER),
    *(f"product:attributes:{name}" for name in PRODUCT),
    *(f"user_category:affinity:{name}" for name in CROSS),
]


def write_project(folder: Path, *, cached: bool) -> None:
    """Schema, config, expression and model; the data goes in with `load_data`."""
    (folder / "configs").mkdir(parents=True)
    (folder / "features").mkdir()
    (folder / "configs" / "bench.json").write_text(json.dumps(_config(cached=cached)))
    (folder / "features" / "schema.yaml").write_text(yaml.safe_dump(_schema()))
    (folder / "expressions.yaml").write_text('blend: "0.7 * score + 0.3 * p0"\n')
    version = folder / "models" / "ranker" / "1"
    version.mkdir(parents=True)
    (version / "model.onnx").write_bytes(tree_ensemble(len(COLUMNS)))


def load_data(flow: inferflow.Flow, rng: np.random.Generator) -> None:
    """Features for every user, product and (for nine in ten) user × category."""
    store = flow.features
    import_table(store, "user", "profile", {"user_id": _ids(USERS), **_numbers(USER, USERS, rng)})
    products = _numbers(PRODUCT[1:], PRODUCTS, rng)
    categories = rng.integers(0, CATEGORIES, PRODUCTS).astype(np.int32)
    import_table(
        store,
        "product",
        "attributes",
        {"product_id": _ids(PRODUCTS), "category_id": categories, **products},
    )
    pairs = [(u, c) for u in range(USERS) for c in range(CATEGORIES) if rng.random() < 0.9]
    users, cats = zip(*pairs, strict=True)
    import_table(
        store,
        "user_category",
        "affinity",
        {
            "user_id": [str(u) for u in users],
            "category_id": [str(c) for c in cats],
            **_numbers(CROSS, len(pairs), rng),
        },
    )


def request(rows: int, rng: np.random.Generator) -> dict[str, Any]:
    products = rng.choice(PRODUCTS, size=rows, replace=False)
    return {
        "model_config_id": "bench",
        "entities": {
            "user": str(rng.integers(USERS)),
            "product": [str(product) for product in products],
        },
    }


def _ids(count: int) -> list[str]:
    return [str(i) for i in range(count)]


def _numbers(names: list[str], rows: int, rng: np.random.Generator) -> dict[str, Any]:
    return {name: rng.normal(size=rows).astype(np.float32) for name in names}


def _schema() -> dict[str, Any]:
    def group(names: list[str]) -> dict[str, Any]:
        return {
            "dtype": "FP32",
            "features": {
                name: {"dtype": "INT32"} if name == "category_id" else {"default": 0.0}
                for name in names
            },
        }

    return {
        "entities": {
            "user": {"keys": ["user_id"], "groups": {"profile": group(USER)}},
            "product": {"keys": ["product_id"], "groups": {"attributes": group(PRODUCT)}},
            "user_category": {
                "keys": ["user_id", "category_id"],
                "groups": {"affinity": group(CROSS)},
            },
        }
    }


def _config(*, cached: bool) -> dict[str, Any]:
    def fetch(entity: str, group: str, names: list[str], keys: dict[str, str]) -> dict[str, Any]:
        return {
            "fs_keys": {"schema": list(keys), "col": list(keys.values())},
            "fs_request": {
                "entity_label": entity,
                "feature_groups": [{"label": group, "feature_labels": names}],
            },
            "col_name_prefix": entity,
            "comp_cache_enabled": cached,
            "comp_cache_ttl": 3600,
        }

    user = {"user_id": "context:user:user_id"}
    product = {"product_id": "context:product:product_id"}
    category = {"category_id": "product:attributes:category_id"}
    return {
        "dag_execution_config": {
            "component_dependency": {
                "feature_initializer": ["fs_user", "fs_product", "fs_user_category"],
                "fs_product": ["fs_user_category"],
                "fs_user": ["ranker"],
                "fs_user_category": ["ranker"],
                "ranker": ["blend"],
                "blend": [],
            }
        },
        "component_config": {
            "feature_component_config": {
                "fs_user": fetch("user", "profile", USER, user),
                "fs_product": fetch("product", "attributes", PRODUCT, product),
                "fs_user_category": fetch("user_category", "affinity", CROSS, {**user, **category}),
            },
            "predator_component_config": {
                "ranker": {
                    "model_name": "ranker",
                    "deadline": 1000,
                    "inputs": {
                        "feature_map": {
                            name: "INT32" if name.endswith("category_id") else "FP32"
                            for name in COLUMNS
                        }
                    },
                    "outputs": {"score_columns": ["score"]},
                }
            },
            "numerix_component_config": {
                "blend": {
                    "score_column": "final_score",
                    "data_type": "FP32",
                    "compute_id": "blend",
                    "score_mapping": {"ranker:score": "FP32", "product:attributes:p0": "FP32"},
                }
            },
            "cache_enabled": cached,
        },
        "response_config": {"features": ["ranker:score", "blend:final_score"]},
    }


def tree_ensemble(width: int, *, seed: int = 7) -> bytes:
    """A regressor of full trees with random splits, as ONNX bytes."""
    rng = np.random.default_rng(seed)
    inner, total = 2**DEPTH - 1, 2 ** (DEPTH + 1) - 1
    nodes: dict[str, list[Any]] = {
        f"nodes_{name}": []
        for name in (
            "treeids",
            "nodeids",
            "featureids",
            "values",
            "modes",
            "truenodeids",
            "falsenodeids",
        )
    }
    leaves: dict[str, list[Any]] = {
        f"target_{name}": [] for name in ("treeids", "nodeids", "ids", "weights")
    }
    for tree in range(TREES):
        for node in range(total):
            is_leaf = node >= inner
            nodes["nodes_treeids"].append(tree)
            nodes["nodes_nodeids"].append(node)
            nodes["nodes_featureids"].append(0 if is_leaf else int(rng.integers(width)))
            nodes["nodes_values"].append(0.0 if is_leaf else float(rng.normal()))
            nodes["nodes_modes"].append("LEAF" if is_leaf else "BRANCH_LEQ")
            nodes["nodes_truenodeids"].append(0 if is_leaf else 2 * node + 1)
            nodes["nodes_falsenodeids"].append(0 if is_leaf else 2 * node + 2)
            if is_leaf:
                leaves["target_treeids"].append(tree)
                leaves["target_nodeids"].append(node)
                leaves["target_ids"].append(0)
                leaves["target_weights"].append(float(rng.normal() * 0.05))
    ensemble = helper.make_node(
        "TreeEnsembleRegressor",
        ["input"],
        ["score"],
        domain="ai.onnx.ml",
        n_targets=1,
        post_transform="NONE",
        **nodes,
        **leaves,
    )
    graph = helper.make_graph(
        [ensemble],
        "ranker",
        [helper.make_tensor_value_info("input", TensorProto.FLOAT, ["N", width])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["N", 1])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=9)
    onnx.checker.check_model(model)
    return bytes(model.SerializeToString())
