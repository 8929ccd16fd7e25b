"""Who lives in the demo shop: users, products and what users have looked at so far.

Everything follows from the seed. Draws come from the uniform stream alone and every value is
rounded to the few decimals its file shows, so the numbers do not move with the version of
numpy or the processor: a feature read back from a file equals the array it came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inferflow.demo.categories import BRANDS, CATEGORIES, EMBEDDING_DIM, VARIANTS, centroids

Array = NDArray[Any]

DEFAULT_SEED = 7
USERS = 2_000
PRODUCTS = 5_000


@dataclass(frozen=True, slots=True)
class FeatureTable:
    """One feature group of one entity. Row i of every array belongs to key i."""

    entity: str
    group: str
    keys: dict[str, Array]
    features: dict[str, Array]
    """Each in the dtype the schema declares; a vector feature has two dimensions."""

    @property
    def name(self) -> str:
        return f"{self.entity}.{self.group}"


@dataclass(frozen=True, slots=True)
class Shop:
    """The whole population. Ids and category ids count from 1."""

    profile: FeatureTable
    attributes: FeatureTable
    popularity: FeatureTable
    affinity: FeatureTable

    @property
    def tables(self) -> tuple[FeatureTable, ...]:
        return (self.profile, self.attributes, self.popularity, self.affinity)


class _Dice:
    """Random draws built on uniform numbers only."""

    def __init__(self, seed: int, stream: int) -> None:
        self._uniform = np.random.Generator(np.random.PCG64([seed, stream])).random

    def uniform(self, *shape: int) -> NDArray[np.float64]:
        return self._uniform(shape)

    def bell(self, *shape: int) -> NDArray[np.float64]:
        """Near normal, mean 0, deviation 1, never beyond ±6: twelve uniforms added up."""
        total: NDArray[np.float64] = np.sum(self._uniform((12, *shape)), axis=0)
        return total - 6.0

    def pick(self, options: int, *shape: int) -> NDArray[np.int64]:
        return np.floor(self._uniform(shape) * options).astype(np.int64)

    def pick_weighted(self, weights: Array, *shape: int) -> NDArray[np.int64]:
        edges = np.cumsum(weights) / np.sum(weights)
        return np.searchsorted(edges[:-1], self._uniform(shape), side="right")


def make_shop(seed: int = DEFAULT_SEED) -> Shop:
    """The population of one seed."""
    attributes, popularity = _products(_Dice(seed, 1))
    profile = _users(_Dice(seed, 2))
    return Shop(profile, attributes, popularity, _affinities(_Dice(seed, 3), profile))


def _products(dice: _Dice) -> tuple[FeatureTable, FeatureTable]:
    ids = {"product_id": np.arange(1, PRODUCTS + 1)}
    shelf = dice.pick_weighted(np.array([c.share for c in CATEGORIES]), PRODUCTS)
    typical = np.array([c.typical_price for c in CATEGORIES])[shelf]
    price = typical * np.exp(0.55 * dice.bell(PRODUCTS))
    embedding = centroids()[shelf] + 0.6 * dice.bell(PRODUCTS, EMBEDDING_DIM)
    rating = np.clip(4.0 + 0.55 * dice.bell(PRODUCTS), 1.0, 5.0)
    on_sale = dice.uniform(PRODUCTS) < 0.15
    ctr = 0.06 * np.exp(0.45 * dice.bell(PRODUCTS)) + 0.02 * on_sale
    views = 40.0 * np.exp(1.2 * dice.bell(PRODUCTS))
    noun, brand = dice.pick(3, PRODUCTS), dice.pick(len(BRANDS), PRODUCTS)
    variant = dice.pick(len(VARIANTS), PRODUCTS)
    titles = [
        f"{BRANDS[b]} {CATEGORIES[s].nouns[n]}, {VARIANTS[v]}"
        for b, s, n, v in zip(brand, shelf, noun, variant, strict=True)
    ]
    attributes = {
        "title": np.array(titles, dtype=object),
        "category_id": (shelf + 1).astype(np.int32),
        "price": _decimals(np.clip(price, 1.0, 2_000.0), 2),
        "rating": _decimals(rating, 1, np.float16),
        "on_sale": on_sale,
        "embedding": _decimals(embedding, 3),
    }
    popularity = {
        "ctr": _decimals(np.clip(ctr, 0.005, 0.4), 4),
        "views": np.rint(views).astype(np.int32),
    }
    return (
        FeatureTable("product", "attributes", ids, attributes),
        FeatureTable("product", "popularity", ids, popularity),
    )


def _users(dice: _Dice) -> FeatureTable:
    features = {
        "age": np.rint(np.clip(41.0 + 14.0 * dice.bell(USERS), 18.0, 85.0)).astype(np.int32),
        "budget": _decimals(np.clip(45.0 * np.exp(0.6 * dice.bell(USERS)), 5.0, 500.0), 2),
        "activity": _decimals(
            np.clip(4.0 * np.exp(0.6 * dice.bell(USERS)), 0.1, 40), 1, np.float16
        ),
        "is_member": dice.uniform(USERS) < 0.3,
    }
    return FeatureTable("user", "profile", {"user_id": np.arange(1, USERS + 1)}, features)


def _affinities(dice: _Dice, profile: FeatureTable) -> FeatureTable:
    """One row per user and category the user has ever visited; the others have none."""
    count = len(CATEGORIES)
    liking = np.exp(1.6 * dice.bell(USERS, count)) * np.array([c.share for c in CATEGORIES])
    liking /= liking.sum(axis=1, keepdims=True)
    weeks = 12.0
    expected = liking * profile.features["activity"].astype(np.float64)[:, None] * weeks
    visits = np.rint(expected * (0.5 + dice.uniform(USERS, count))).astype(np.int32)
    recency = np.clip(84.0 * dice.uniform(USERS, count) / np.sqrt(np.maximum(visits, 1)), 0, 84)
    user, shelf = np.nonzero(visits)
    total = np.maximum(visits.sum(axis=1), 1)
    seen = visits[user, shelf]
    return FeatureTable(
        "user_category",
        "affinity",
        {"user_id": user + 1, "category_id": shelf + 1},
        {
            "share": _decimals(seen / total[user], 3),
            "visits": seen,
            "days_since": _decimals(recency[user, shelf], 1, np.float16),
        },
    )


def _decimals(values: Array, places: int, dtype: type[np.floating[Any]] = np.float32) -> Array:
    """Rounded so that the shortest text of the value is the value."""
    scale = 10.0**places
    return (np.rint(values * scale) / scale).astype(dtype)
