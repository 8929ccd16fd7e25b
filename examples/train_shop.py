"""Trains the four models of the demo shop and writes them where the demo ships them.

    pip install -r requirements/train.txt && pip install --no-deps -e .
    python examples/train_shop.py     # some ten seconds
    python examples/expect_shop.py    # the golden requests follow the models

in a virtual environment of its own: nothing else needs these libraries.

Everything is seeded: the same machine and library versions write the same bytes. A model file
is only written when ONNX Runtime gives the trained model's own answers within 1e-5.

click_model, purchase_model: gradient-boosted trees on what users did with products shown.
pair_model: one measure of a product's worth, learned from choices between two of them.
page_model: a page's chance of an order, from the mean and the spread of its products.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import lightgbm
import numpy as np
import onnxruntime
from shop import behaviour, network
from shop.columns import PROJECT, ShopColumns, feature_map, tensor
from shop.export import pair_to_onnx, pooled, slate_to_onnx, to_bytes, trees_to_onnx
from shop.quality import auc

from inferflow.demo.population import make_shop

SEED = 20
TREES = 50
TOLERANCE = 1e-5
PAGE_LENGTHS = (2, 3, 4, 6, 8)


@dataclass(frozen=True)
class Unseen:
    """Cases the model was not trained on, its own answers, and the outcome."""

    inputs: np.ndarray
    predicted: np.ndarray
    outcome: behaviour.Outcome


def main() -> None:
    shop = ShopColumns(make_shop())
    shown = behaviour.impressions(shop, np.random.default_rng(SEED), 200_000)
    held_out = behaviour.impressions(shop, np.random.default_rng(SEED + 1), 50_000)
    clicks = train_trees("click_model", "click", shown, held_out, lambda seen: seen.click)
    train_trees("purchase_model", "purchase", shown, held_out, lambda seen: seen.purchase)
    train_pairs(shop)
    train_pages(shop, clicks)


def train_trees(
    model: str,
    output: str,
    shown: behaviour.Impressions,
    held_out: behaviour.Impressions,
    outcome: Callable[[behaviour.Impressions], behaviour.Outcome],
) -> lightgbm.Booster:
    wanted = feature_map("ranker", model)
    settings = {
        "objective": "binary",
        "num_leaves": 15,
        "learning_rate": 0.15,
        "min_data_in_leaf": 200,
        "use_missing": False,
        "seed": SEED,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbosity": -1,
    }
    data = lightgbm.Dataset(tensor(wanted, shown.columns), outcome(shown).happened.astype(int))
    booster = lightgbm.train(settings, data, TREES)
    unseen = tensor(wanted, held_out.columns)
    predicted = booster.predict(unseen)
    exported = to_bytes(trees_to_onnx(booster, output), list(wanted))
    publish(model, exported, [Unseen(unseen, predicted, outcome(held_out))])
    return booster


def train_pairs(shop: ShopColumns) -> None:
    wanted = feature_map("pairs", "pair_model")
    items = {name: dtype for name, dtype in wanted.items() if name != "position_gap"}

    def parts(seen: behaviour.Choices) -> tuple[list[tuple[float, np.ndarray]], np.ndarray]:
        blocks = [(1.0, tensor(items, seen.first)), (-1.0, tensor(items, seen.second))]
        return blocks, seen.position_gap[:, None]

    train = behaviour.choices(shop, np.random.default_rng(SEED + 2), 60_000)
    test = behaviour.choices(shop, np.random.default_rng(SEED + 3), 20_000)
    # Choosing neither side by habit: with equal items and no gap the answer is one half.
    weights = network.fit(*parts(train), train.chose_first.happened, seed=SEED, balanced=True)
    blocks, gap = parts(test)
    width = blocks[0][1].shape[1]
    exported = to_bytes(pair_to_onnx(weights, width, "preference"), list(wanted))
    unseen = np.concatenate([blocks[0][1], blocks[1][1], gap], axis=1)
    predicted = network.probability(weights, blocks, gap)
    publish("pair_model", exported, [Unseen(unseen, predicted, test.chose_first)])


def train_pages(shop: ShopColumns, clicks: lightgbm.Booster) -> None:
    wanted = feature_map("page", "page_model")

    def slates(count: int, length: int, seed: int) -> tuple[np.ndarray, behaviour.Outcome]:
        seen = behaviour.pages(shop, np.random.default_rng(seed), count, length)
        features = tensor(feature_map("page", "click_model"), seen.columns)
        score = {"click_model:click": clicks.predict(features).astype(np.float32)}
        items = tensor(wanted, seen.columns | score)
        return items.reshape(count, length, -1), seen.order

    train = [slates(12_000, length, SEED + 100 + length) for length in PAGE_LENGTHS]
    inputs = np.concatenate([pooled(items) for items, _ in train])
    ordered = np.concatenate([order.happened for _, order in train])
    weights = network.fit([(1.0, inputs)], np.zeros((len(inputs), 0)), ordered, seed=SEED)
    exported = to_bytes(slate_to_onnx(weights, inputs.shape[1] // 2, "order"), list(wanted))

    def unseen(length: int) -> Unseen:
        items, order = slates(10_000, length, SEED + 200 + length)
        exact = pooled(items.astype(np.float64))
        nothing = np.zeros((len(exact), 0))
        return Unseen(items, network.probability(weights, [(1.0, exact)], nothing), order)

    publish("page_model", exported, [unseen(3), unseen(6)])


def publish(name: str, exported: bytes, trials: list[Unseen]) -> None:
    """Write the model if its file answers as the trained model does, and say how good it is."""
    session = onnxruntime.InferenceSession(exported)
    for trial in trials:
        (scores,) = session.run(None, {"features": trial.inputs})
        furthest = float(np.abs(scores[:, 0] - trial.predicted).max())
        if furthest > TOLERANCE:
            raise SystemExit(f"{name}: ONNX and the trained model differ by {furthest:.1e}")
        happened = trial.outcome.happened
        quality, possible = (auc(s, happened) for s in (trial.predicted, trial.outcome.chance))
        print(
            f"{name:15} {len(exported) / 1e3:4.0f} kB  AUC {quality:.3f} of {possible:.3f} possible"
            f" on {len(happened)} unseen cases ({happened.mean():.1%} yes)"
            f"  input {list(trial.inputs.shape)}  ONNX is off by {furthest:.0e} at most"
        )
    path = PROJECT / "models" / name / "1" / "model.onnx"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(exported)


if __name__ == "__main__":
    main()
