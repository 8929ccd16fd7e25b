"""A small watched shop: one model, which can be made to fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from inferflow.engine.observer import Observer
from inferflow.engine.request import request_from
from inferflow.engine.scorer import Scorer
from inferflow.testing import World, entity, failing, model

CONFIG: dict[str, Any] = {
    "dag_execution_config": {
        "component_dependency": {"feature_initializer": ["fs_item"], "fs_item": ["rank"]}
    },
    "component_config": {
        "feature_component_config": {
            "fs_item": {
                "fs_keys": {"schema": ["item_id"], "col": "context:item:item_id"},
                "fs_request": {
                    "entity_label": "item",
                    "feature_groups": [{"label": "facts", "feature_labels": ["price"]}],
                },
                "col_name_prefix": "item",
            }
        },
        "predator_component_config": {
            "rank": {
                "model_name": "rank",
                "inputs": {"feature_map": {"item:facts:price": "FP32"}},
                "outputs": {"score_columns": ["score"]},
            }
        },
    },
    "response_config": {"features": ["rank:score"]},
}
SECRET = "4711-secret"

MakeScorer = Callable[..., Scorer]


def ask(*ids: str) -> Any:
    return request_from({"entities": {"item": list(ids)}}, config_id="shop")


@pytest.fixture
def make_scorer() -> MakeScorer:
    def made(
        observer: Observer | None = None, *, broken: bool = False, on_error: str = "skip"
    ) -> Scorer:
        run = failing(f"no {SECRET}") if broken else lambda x: x[:, 0]
        world = World(
            entities=[entity("item", "item_id", facts={"price": "FP32"})],
            features={"item:facts": {"1": {"price": 2.0}, "2": {"price": 5.0}}},
            models={"rank": model(run, inputs={"x": "FP32[N,1]"}, outputs={"score": "FP32[N]"})},
            observer=observer,
        )
        config = {**CONFIG, "component_config": {**CONFIG["component_config"]}}
        steps = {"rank": {**CONFIG["component_config"]["predator_component_config"]["rank"]}}
        steps["rank"]["on_error"] = on_error
        config["component_config"]["predator_component_config"] = steps
        return world.scorer({"shop": config})

    return made
