"""A small world to call: items with a price, users with an age, and models that add things up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inferflow.testing import World, entity, failing, model


def feature_step(label: str, *features: str) -> dict[str, Any]:
    return {
        "fs_keys": {"schema": [f"{label}_id"], "col": f"context:{label}:{label}_id"},
        "fs_request": {
            "entity_label": label,
            "feature_groups": [{"label": "facts", "feature_labels": list(features)}],
        },
    }


def config(
    *,
    answer: list[str],
    inputs: Mapping[str, str],
    users: bool = True,
    slate: bool = False,
    **more: Any,
) -> dict[str, Any]:
    steps = {"fs_item": feature_step("item", "price", "title")}
    if users:
        steps["fs_user"] = feature_step("user", "age")
    return {
        "dag_execution_config": {
            "component_dependency": {
                "feature_initializer": list(steps),
                **{step: ["rank"] for step in steps},
                "rank": [],
            }
        },
        "component_config": {
            "feature_component_config": steps,
            "predator_component_config": {
                "rank": {
                    "model_name": more.pop("model_name", "adder"),
                    "inputs": {"feature_map": dict(inputs)},
                    "outputs": {"score_columns": ["score"]},
                    "slate_component": slate,
                }
            },
        },
        "response_config": {"features": answer, **more.pop("response", {})},
        **more,
    }


def only_boost(**more: Any) -> dict[str, Any]:
    """A config that looks nothing up: its model sees what the request brings."""
    document = config(inputs={"boost": "FP32"}, answer=["rank:score"], **more)
    document["component_config"]["feature_component_config"] = {}
    document["dag_execution_config"]["component_dependency"] = {"feature_initializer": ["rank"]}
    return document


INPUTS = {
    "item:facts:price": "FP32",
    "user:facts:age": "FP32",
    "hour": "FP32",
    "boost": "FP32",
}
ANSWER = ["item_id", "item:facts:title", "boost", "rank:score"]


def configs() -> dict[str, Any]:
    plain: dict[str, Any] = {"inputs": INPUTS, "answer": ANSWER}
    duel = {"item:facts:price": "FP32", "gap": "FP32"}
    both: dict[str, Any] = {
        "inputs": duel,
        "answer": ["item:facts:price", "rank:score"],
        "users": False,
        "slate": True,
    }
    return {
        "ranker": config(**plain),
        "as_text": config(**plain, predict_value_encoding="text"),
        "either": config(**plain, predict_value_encoding="auto"),
        "shown": config(**plain, response={"model_schema_perc": 100}),
        "some_shown": config(**plain, response={"model_schema_perc": 50}),
        "numbers": config(inputs=INPUTS, answer=["boost", "rank:score"]),
        "tenants": config(inputs=INPUTS, answer=["tenant_id", "rank:score"]),
        "broken": config(**plain, model_name="broken"),
        "pairs": config(**both, model_name="duel"),
        "slates": config(**both, model_name="trio"),
        "bad": {"dag_execution_config": {}},
    }


def make_world() -> World:
    prices = {
        str(number): {"price": float(number), "title": f"item {number}"} for number in range(20)
    }
    return World(
        entities=[
            entity("item", facts={"price": ("FP32", 0.5), "title": ("String", "unknown")}),
            entity("user", facts={"age": ("INT32", 0)}),
        ],
        features={"item:facts": prices, "user:facts": {"7": {"age": 30}}},
        models={
            "adder": model(lambda x: x.sum(axis=1), inputs={"x": "FP32[N,4]"}),
            "broken": model(failing("no more"), inputs={"x": "FP32[N,4]"}),
            "duel": model(lambda x: x[:, 0] - x[:, 1] + x[:, 2], inputs={"x": "FP32[N,3]"}),
            "trio": model(lambda x: x.sum(axis=1), inputs={"x": "FP32[N,4]"}),
        },
    )
