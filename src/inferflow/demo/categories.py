"""The shelves of the demo shop: what each category sells, for how much, and when.

These stay the same for every seed, so models trained on one population fit any other.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

EMBEDDING_DIM = 8


@dataclass(frozen=True, slots=True)
class Category:
    """One shelf. Its `category_id` is its place in `CATEGORIES`, counted from 1."""

    name: str
    nouns: tuple[str, ...]
    typical_price: float
    peak_hour: int
    """The hour of the day at which people are keenest on it."""
    share: float
    """How much of the range it makes up, relative to the others."""


CATEGORIES: tuple[Category, ...] = (
    Category("phones", ("phone", "phone case", "charger"), 180.0, 20, 1.2),
    Category("laptops", ("laptop", "laptop sleeve", "docking station"), 260.0, 14, 0.8),
    Category("audio", ("headphones", "speaker", "turntable"), 90.0, 21, 1.0),
    Category("cameras", ("camera", "tripod", "camera strap"), 150.0, 16, 0.6),
    Category("books", ("novel", "cookbook", "atlas"), 16.0, 22, 2.0),
    Category("games", ("board game", "puzzle", "card game"), 28.0, 19, 1.0),
    Category("toys", ("train set", "plush bear", "building blocks"), 24.0, 10, 1.2),
    Category("kitchen", ("crêpe pan", "kettle", "bread knife"), 35.0, 11, 1.5),
    Category("furniture", ("armchair", "bookshelf", "side table"), 210.0, 15, 0.7),
    Category("garden", ("watering can", "rake", "plant pot"), 22.0, 9, 0.9),
    Category("tools", ("cordless drill", "socket set", "workbench"), 75.0, 8, 0.8),
    Category("shoes", ("trainers", "boots", "sandals"), 68.0, 18, 1.4),
    Category("clothing", ("linen shirt", "jumper", "skirt"), 38.0, 20, 2.0),
    Category("outdoor", ("tent", "rucksack", "rain jacket"), 110.0, 17, 0.9),
    Category("watches", ("watch", "watch strap", "alarm clock"), 120.0, 13, 0.5),
    Category("beauty", ("hand cream", "shampoo", "perfume"), 19.0, 21, 1.3),
    Category("groceries", ("olive oil", "granola", "dark chocolate"), 8.0, 12, 1.6),
    Category("coffee", ("espresso beans", "teapot", "coffee mill"), 21.0, 7, 0.9),
    Category("sports", ("yoga mat", "dumbbell", "football"), 32.0, 18, 1.0),
    Category("pets", ("dog lead", "cat tree", "bird feeder"), 26.0, 16, 0.9),
)

BRANDS = ("Alder", "Bramble", "Fjordal", "Juniper", "Kestrel", "Lumo", "Norrby", "Tamarind")
VARIANTS = (
    "basic",
    "classic",
    "compact",
    "deluxe",
    "gift box",
    "last chance",
    "new edition",
    "twin pack",
)


def centroids() -> NDArray[np.float64]:
    """Where each category sits in the embedding space: one row per category, in order.

    Entry (category, d) is a fixed wave of both, so neighbours differ and no table is needed.
    """
    category = np.arange(1, len(CATEGORIES) + 1)[:, None]
    axis = np.arange(1, EMBEDDING_DIM + 1)[None, :]
    return np.sin(1.7 * category * axis + 0.9 * axis)
