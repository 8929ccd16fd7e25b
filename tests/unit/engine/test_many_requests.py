"""One scorer, many requests at the same time: nobody gets another's answer."""

from __future__ import annotations

import asyncio
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from inferflow.components.cache import FeatureCache
from inferflow.engine.request import ScoreRequest
from inferflow.engine.scorer import Scorer

from ...robustness.scenario import StartScenario
from .worlds import World, pausing, row_model
from .writing import compute_step, config, feature_step, model_step


def a_world() -> World:
    world = World(expressions={"sum": {"infix": "s + h"}})
    rows = {str(n): {"price": float(n)} for n in range(1, 100)}
    world.table("product", "attrs", {"price": "FP32"}, rows)
    world.models["m"] = row_model(lambda x: [[x[0] * 2]])
    return world


def a_scorer(world: World) -> Scorer:
    fs = feature_step(
        "product", {"product_id": "product_id"}, {"attrs": ["price"]}, comp_cache_enabled=True
    )
    written = config(
        ["c:value"],
        features={"fs": fs},
        models={"m": model_step("m", {"product:attrs:price": "FP32"}, batch_size=3)},
        computes={"c": compute_step("sum", {"s@FP32": "m:score", "h@FP32": "hour"})},
        shared={"cache_enabled": True},
    )
    return world.scorer(written, cache=FeatureCache(0.02, now=lambda: 0.0))


def a_request(number: int) -> tuple[ScoreRequest, list[float]]:
    """A request unlike any other, and its answer."""
    chance = random.Random(number)
    products = [chance.randint(1, 99) for _ in range(chance.randint(1, 12))]
    context = {"hour": number, f"name{number % 7}": 1}
    asked = ScoreRequest("config", {"product": [str(p) for p in products]}, context=context)
    return asked, [2.0 * p + number for p in products]


def test_threads_share_a_scorer(scenario: StartScenario) -> None:
    tried = scenario("K5", "eight threads share a scorer")
    scorer = a_scorer(a_world())

    def one(number: int) -> tuple[list[Any], list[float]]:
        asked, expected = a_request(number)
        return scorer.score_now(asked)["c:value"].tolist(), expected

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(one, range(400)))
    wrong = [got for got, expected in answers if got != expected]
    tried.none("answer is somebody else's", wrong, of=len(answers))


@pytest.mark.parametrize("seed", range(3))
def test_requests_on_one_loop_share_a_scorer(seed: int) -> None:
    world = a_world()
    world.pause = pausing(seed)
    scorer = a_scorer(world)

    async def one(number: int) -> tuple[list[Any], list[float]]:
        asked, expected = a_request(number)
        return (await scorer.score(asked))["c:value"].tolist(), expected

    async def main() -> list[tuple[list[Any], list[float]]]:
        return await asyncio.gather(*map(one, range(100)))

    for got, expected in asyncio.run(main()):
        assert got == expected
