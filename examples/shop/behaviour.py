"""What customers of the demo shop do. The models never see these rules, only their outcomes.

Each function draws situations and lets chance decide by a probability that depends on the
features. That chance is kept beside the outcome: no model can do better than to know it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from inferflow.demo.categories import CATEGORIES
from shop.columns import Columns, ShopColumns

APPEAL = np.array([0.5, -0.4, 0.3, 0.0, -0.3, 0.2, 0.4, -0.2])
"""The direction of the embedding space that catches everybody's eye."""
PEAK_HOUR = np.array([0, *(category.peak_hour for category in CATEGORIES)])


@dataclass(frozen=True)
class Outcome:
    """Whether something happened, and how likely it was."""

    chance: np.ndarray
    happened: np.ndarray


@dataclass(frozen=True)
class Impressions:
    """Products shown to users, and what came of it."""

    columns: Columns
    click: Outcome
    purchase: Outcome


@dataclass(frozen=True)
class Choices:
    """Two products side by side, and whether the first was taken."""

    first: Columns
    second: Columns
    position_gap: np.ndarray
    """How many places higher the first one stood."""
    chose_first: Outcome


@dataclass(frozen=True)
class Pages:
    """Pages of equal length, row after row: page i is rows i·n to (i+1)·n."""

    columns: Columns
    order: Outcome


def impressions(shop: ShopColumns, rng: np.random.Generator, count: int) -> Impressions:
    users, products = _shown(shop, rng, count)
    columns = shop.join(users, products) | {"hour": rng.integers(0, 24, count, dtype=np.int32)}
    click = _outcome(_click_logit(columns), rng)
    then = _outcome(_buy_logit(columns), rng)
    purchase = Outcome(click.chance * then.chance, click.happened & then.happened)
    return Impressions(columns, click, purchase)


def choices(shop: ShopColumns, rng: np.random.Generator, count: int) -> Choices:
    """Half of the pairs are from one category, as they would be on a shelf."""
    users, first = _shown(shop, rng, count)
    neighbour = _of_category(shop, rng, shop.shop.attributes.features["category_id"][first - 1])
    anything = rng.integers(1, len(shop.shop.attributes.keys["product_id"]) + 1, count)
    second = np.where(rng.random(count) < 0.5, neighbour, anything)
    gap = rng.integers(-9, 10, count).astype(np.float32)
    one, other = shop.join(users, first), shop.join(users, second)
    chose_first = _outcome(_worth(one) - _worth(other) + 0.15 * gap, rng)
    return Choices(one, other, gap, chose_first)


def pages(shop: ShopColumns, rng: np.random.Generator, count: int, length: int) -> Pages:
    """Pages for one user each. A varied page does better than its products alone would."""
    users, products = _shown(shop, rng, count * length)
    columns = shop.join(np.repeat(users[::length], length), products)
    columns["hour"] = np.repeat(rng.integers(0, 24, count, dtype=np.int32), length)
    draw = _page_mean(_click_logit(columns), length)
    variety = _page_spread(columns["product:attributes:embedding"], length)
    worth = _page_mean(_worth(columns), length)
    order = _outcome(-0.6 + 0.8 * draw + 2.0 * variety + 0.6 * worth, rng)
    return Pages(columns, order)


def _shown(
    shop: ShopColumns, rng: np.random.Generator, count: int
) -> tuple[np.ndarray, np.ndarray]:
    """Half of what a shop shows is from categories the user likes, half is anything."""
    liked = shop.shop.affinity
    row = rng.integers(0, len(liked.keys["user_id"]), count)
    by_taste = _of_category(shop, rng, liked.keys["category_id"][row])
    anything = rng.integers(1, len(shop.shop.attributes.keys["product_id"]) + 1, count)
    return liked.keys["user_id"][row], np.where(rng.random(count) < 0.5, by_taste, anything)


def _of_category(shop: ShopColumns, rng: np.random.Generator, category: np.ndarray) -> np.ndarray:
    """A random product of each given category."""
    shelf = shop.shop.attributes.features["category_id"]
    by_shelf = np.argsort(shelf, kind="stable")
    start = np.searchsorted(shelf[by_shelf], category, side="left")
    end = np.searchsorted(shelf[by_shelf], category, side="right")
    return by_shelf[start + np.floor(rng.random(len(category)) * (end - start)).astype(int)] + 1


def _click_logit(columns: Columns) -> np.ndarray:
    value = _as_numbers(columns)
    hours_off = value["hour"] - PEAK_HOUR[columns["product:attributes:category_id"]]
    return (
        -3.0
        + 3.2 * np.sqrt(value["user_category:affinity:share"])
        + 0.25 * np.log1p(value["user_category:affinity:visits"])
        - 0.006 * np.minimum(value["user_category:affinity:days_since"], 84.0)
        + 0.8 * columns["product:attributes:embedding"] @ APPEAL
        + 7.0 * (value["product:popularity:ctr"] - 0.06)
        + 0.08 * np.log1p(value["product:popularity:views"])
        + 0.6 * value["product:attributes:on_sale"]
        + 0.6 * (value["product:attributes:rating"] - 4.0)
        - 0.35 * np.abs(_price_to_budget(value))
        + 0.6 * np.cos(hours_off * (2.0 * np.pi / 24.0))
        + 0.03 * value["user:profile:activity"]
        + 0.2 * value["user:profile:is_member"]
        - 0.008 * (value["user:profile:age"] - 41.0)
    )


def _buy_logit(columns: Columns) -> np.ndarray:
    """Given a click."""
    value = _as_numbers(columns)
    return (
        -0.9
        - 1.1 * np.maximum(_price_to_budget(value), 0.0)
        + 1.2 * (value["product:attributes:rating"] - 4.0)
        + 0.8 * value["product:attributes:on_sale"]
        + 0.7 * value["user:profile:is_member"]
        + 1.5 * np.sqrt(value["user_category:affinity:share"])
        + 0.01 * (value["user:profile:age"] - 41.0)
        + 0.4 * columns["product:attributes:embedding"] @ APPEAL
    )


def _worth(columns: Columns) -> np.ndarray:
    """What a product is worth to anybody, all else being equal."""
    value = _as_numbers(columns)
    return (
        1.1 * (value["product:attributes:rating"] - 4.0)
        + 0.6 * value["product:attributes:on_sale"]
        - 0.45 * np.log(value["product:attributes:price"] / 40.0)
        + 8.0 * (value["product:popularity:ctr"] - 0.06)
        + 0.6 * columns["product:attributes:embedding"] @ APPEAL
    )


def _price_to_budget(value: Columns) -> np.ndarray:
    return np.log(value["product:attributes:price"] / value["user:profile:budget"])


def _page_mean(values: np.ndarray, length: int) -> np.ndarray:
    return values.reshape(-1, length).mean(axis=1)


def _page_spread(embedding: np.ndarray, length: int) -> np.ndarray:
    return embedding.reshape(-1, length, embedding.shape[1]).var(axis=1).mean(axis=1)


def _as_numbers(columns: Columns) -> Columns:
    return {
        name: values.astype(np.float64)
        for name, values in columns.items()
        if values.ndim == 1 and values.dtype != object
    }


def _outcome(logit: np.ndarray, rng: np.random.Generator) -> Outcome:
    chance = 1.0 / (1.0 + np.exp(-logit))
    return Outcome(chance, rng.random(len(logit)) < chance)
