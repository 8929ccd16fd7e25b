"""Finished requests to log: of a small world, and of matrices filled by hand."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from inferflow.engine.observer import Observer
from inferflow.engine.request import request_from
from inferflow.engine.run import Run
from inferflow.inferlog.taken import PlanLog, Taken
from inferflow.testing import World, entity, failing, model

AT = 1_763_200_000.5


class Runs(Observer):
    """Keeps what was answered."""

    def __init__(self) -> None:
        self.runs: list[Run] = []

    def request_answered(self, run: Run) -> None:
        self.runs.append(run)


def ranker(*, slate: bool = False, model_name: str = "", **response: Any) -> dict[str, Any]:
    """A config that logs everything: features, a model score, an input of the request."""
    inputs = {"item:facts:price": "FP32", "boost": "FP32"}
    return {
        "dag_execution_config": {
            "component_dependency": {
                "feature_initializer": ["fs_item"],
                "fs_item": ["rank"],
                "rank": [],
            }
        },
        "component_config": {
            "cache_version": 3,
            "feature_component_config": {
                "fs_item": {
                    "fs_keys": {"schema": ["item_id"], "col": "context:item:item_id"},
                    "fs_request": {
                        "entity_label": "item",
                        "feature_groups": [
                            {"label": "facts", "feature_labels": ["title", "price", "emb", "stock"]}
                        ],
                    },
                }
            },
            "predator_component_config": {
                "rank": {
                    "model_name": model_name or ("duel" if slate else "adder"),
                    "inputs": {"feature_map": inputs},
                    "outputs": {"score_columns": ["score"]},
                    "slate_component": slate,
                }
            },
        },
        "response_config": {
            "features": ["item_id", "rank:score"],
            "logging_perc": 100,
            **response,
        },
    }


def make_world(observer: Observer) -> World:
    rows = {
        str(n): {"title": f"item {n}", "price": float(n), "emb": [n, n / 2], "stock": n}
        for n in range(50)
    }
    return World(
        entities=[
            entity(
                "item",
                facts={
                    "title": "String",
                    "price": ("FP32", 0.5),
                    "emb": "FP32Vector[2]",
                    "stock": "INT32",
                },
            )
        ],
        features={"item:facts": rows},
        models={
            "adder": model(lambda x: x.sum(axis=1), inputs={"x": "FP32[N,2]"}),
            "broken": model(failing("no more"), inputs={"x": "FP32[N,2]"}),
            "duel": model(lambda x: x.sum(axis=1), inputs={"x": "FP32[N,3]"}),
        },
        observer=observer,
    )


Answer = Callable[..., Run]


@pytest.fixture
def answered() -> Answer:
    """Scores a request and gives what may be logged of it."""

    def answer(config: Mapping[str, Any], request: Mapping[str, Any]) -> Run:
        watching = Runs()
        scorer = make_world(watching).scorer({"ranker": config})
        scorer.score_now(request_from(request, config_id="ranker"))
        return watching.runs[0]

    return answer


def three_items(**more: Any) -> dict[str, Any]:
    return {
        "entities": {"item": ["3", "1", "2"]},
        "context": {"boost": 0.5},
        "user_id": "u7",
        "tracking_id": "t1",
        **more,
    }


def taken(run: Run, at: float = AT) -> Taken:
    log = PlanLog(run.plan)
    return Taken(run, log, at, log.bytes_of(run))
