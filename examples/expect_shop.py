"""Computes what the demo's sample requests must answer, and writes it into them.

    python examples/expect_shop.py            # after train_shop.py
    python examples/expect_shop.py --check    # only say whether the files are right

Nothing here goes through Inferflow's engine, store or expressions: features come straight from
the population's arrays, models run in bare ONNX Runtime, and the arithmetic is written out. So
`inferflow test` on the demo compares two independent ways of getting a score.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import onnxruntime
from shop.columns import PROJECT, Columns, ShopColumns, feature_map, tensor

from inferflow.demo.population import make_shop

Request = dict[str, Any]
Scores = dict[str, np.ndarray]

DIVERSITY = 0.4


def main(arguments: list[str]) -> int:
    shop = ShopColumns(make_shop())
    wrong = 0
    for path in sorted((PROJECT / "requests").glob("*.json")):
        request = json.loads(path.read_text("utf-8"))
        scores = ANSWERS[request["model_config_id"]](shop, request)
        if "--check" in arguments:
            verdict = "as it should be" if _agrees(request, scores) else "WRONG"
            wrong += verdict == "WRONG"
        else:
            path.write_text(_laid_out(request, scores), "utf-8")
            verdict = "written"
        print(f"{path.name:22} {verdict}")
    return 1 if wrong else 0


def _agrees(request: Request, scores: Scores) -> bool:
    expected = request["expect"]
    return expected.keys() == scores.keys() and all(
        np.shape(expected[column]) == values.shape
        and np.allclose(expected[column], values, rtol=0.0, atol=request["tolerance"])
        for column, values in scores.items()
    )


# --- one function per config ----------------------------------------------------------------


def ranker(shop: ShopColumns, request: Request) -> Scores:
    columns = _columns(shop, request)
    click = _run("ranker", "click_model", columns)
    purchase = _run("ranker", "purchase_model", columns)
    price = columns["product:attributes:price"].astype(np.float64)
    return {
        "click_model:click": click,
        "purchase_model:purchase": purchase,
        "blend:final_score": purchase * price**0.1 + 0.3 * click,
    }


def ranker_diverse(shop: ShopColumns, request: Request) -> Scores:
    scores = ranker(shop, request)
    category = _columns(shop, request)["product:attributes:category_id"]
    order = _diversified(scores["blend:final_score"], category)
    place = np.empty(len(order))
    place[order] = np.arange(len(order), 0, -1) / len(order)
    return scores | {"rerank:diverse_score": place}


def pairs(shop: ShopColumns, request: Request) -> Scores:
    columns = _columns(shop, request)
    wanted = feature_map("pairs", "pair_model")
    items = tensor({name: t for name, t in wanted.items() if name != "position_gap"}, columns)
    first, second = np.array(request["pairs"]).T
    gap = np.array(request["pair_features"]["position_gap"], dtype=np.float32)[:, None]
    inputs = np.concatenate([items[first], items[second], gap], axis=1)
    return {"pair_model:preference": _session("pair_model", inputs)}


def page(shop: ShopColumns, request: Request) -> Scores:
    columns = _columns(shop, request)
    columns["click_model:click"] = _run("page", "click_model", columns)
    items = tensor(feature_map("page", "page_model"), columns)
    slates = [np.array(slate) for slate in request["slates"]]
    order = np.concatenate([_session("page_model", items[slate][None]) for slate in slates])
    price = columns["product:attributes:price"].astype(np.float64)
    mean_price = np.array([price[slate].mean() for slate in slates])
    visibility = np.array(request["slate_features"]["visibility"])
    return {
        "click_model:click": columns["click_model:click"],
        "page_model:order": order,
        "page_revenue:revenue": order * visibility * mean_price,
    }


ANSWERS: dict[str, Callable[[ShopColumns, Request], Scores]] = {
    "ranker": ranker,
    "ranker_diverse": ranker_diverse,
    "pairs": pairs,
    "page": page,
}


def _columns(shop: ShopColumns, request: Request) -> Columns:
    """Features of the request's products and, where it names one, of its user."""
    products = np.array([int(product) for product in request["entities"]["product"]])
    user = request["entities"].get("user", "")
    users = np.full(len(products), int(user) if user.isdigit() else 0)
    context = request.get("context", {})
    return shop.join(users, products) | {
        name: np.full(len(products), value) for name, value in context.items()
    }


def _run(config_id: str, component: str, columns: Columns) -> np.ndarray:
    return _session(component, tensor(feature_map(config_id, component), columns))


def _session(model: str, inputs: np.ndarray) -> np.ndarray:
    path = PROJECT / "models" / model / "1" / "model.onnx"
    (scores,) = onnxruntime.InferenceSession(path).run(None, {"features": inputs})
    return scores[:, 0]


def _diversified(score: np.ndarray, category: np.ndarray) -> list[int]:
    """Rows in the order they are picked: each time the best of what is left.

    A row is as good as its score (0 for the lowest of all, 1 for the highest), less a penalty
    of k / (k + 1) when k rows of its category have been picked.
    """
    relevance = (score - score.min()) / (score.max() - score.min())
    picked: list[int] = []
    left = list(range(len(score)))

    def standing(row: int) -> float:
        k = sum(category[other] == category[row] for other in picked)
        return float((1 - DIVERSITY) * relevance[row] - DIVERSITY * k / (k + 1))

    while left:
        best = max(left, key=standing)
        picked.append(best)
        left.remove(best)
    return picked


# --- how a request file looks ---------------------------------------------------------------


def _laid_out(request: Request, scores: Scores) -> str:
    """One field per line, and one expected column per line."""
    request = {field: value for field, value in request.items() if field != "expect"}
    tolerance = request.pop("tolerance", 1e-5)
    columns = [f"    {json.dumps(column)}: {_readable(scores[column])}" for column in scores]
    fields = [f"  {json.dumps(field)}: {json.dumps(value)}" for field, value in request.items()]
    expect = '  "expect": {\n' + ",\n".join(columns) + "\n  }"
    return "{\n" + ",\n".join([*fields, expect, f'  "tolerance": {tolerance}']) + "\n}\n"


def _readable(values: np.ndarray) -> str:
    """The shortest numbers that mean the same in single precision."""
    return json.dumps([float(text) for text in values.astype(np.float32).astype(str)])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
