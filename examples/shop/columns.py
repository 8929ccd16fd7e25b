"""Feature columns by the names the configs use, straight from the population's arrays.

This is the obvious way to get what the engine gets through files, store and plan: look up the
row, or take the schema's default when there is none. The demo's expected scores rest on it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from inferflow.demo.categories import CATEGORIES
from inferflow.demo.population import FeatureTable, Shop

PROJECT = Path(__file__).parents[2] / "src" / "inferflow" / "demo" / "project"

Columns = dict[str, np.ndarray]

NUMPY_OF = {
    "FP32": np.float32,
    "FP16": np.float16,
    "INT32": np.int32,
    "Bool": np.bool_,
    "FP32Vector": np.float32,
}


class ShopColumns:
    """Joins the tables of one shop for any users and products."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self._schema = yaml.safe_load((PROJECT / "features/schema.yaml").read_text("utf-8"))
        keys = shop.affinity.keys
        users = len(shop.profile.keys["user_id"])
        self._affinity_row = np.full((users + 1, len(CATEGORIES) + 1), -1)
        self._affinity_row[keys["user_id"], keys["category_id"]] = np.arange(len(keys["user_id"]))

    def join(self, users: np.ndarray, products: np.ndarray) -> Columns:
        """Every feature column for row-aligned user and product ids; unknown users are welcome."""
        known = (users >= 1) & (users <= len(self.shop.profile.keys["user_id"]))
        product_row = products - 1
        category = self.shop.attributes.features["category_id"][product_row]
        affinity_row = self._affinity_row[np.where(known, users, 0), category]
        return {
            **self._take(self.shop.profile, np.where(known, users - 1, -1)),
            **self._take(self.shop.attributes, product_row),
            **self._take(self.shop.popularity, product_row),
            **self._take(self.shop.affinity, np.where(known, affinity_row, -1)),
        }

    def _take(self, table: FeatureTable, rows: np.ndarray) -> Columns:
        declared = self._schema["entities"][table.entity]["groups"][table.group]["features"]
        taken: Columns = {}
        for name, values in table.features.items():
            column = values[rows]
            if (rows < 0).any():
                column[rows < 0] = declared[name]["default"]
            taken[f"{table.entity}:{table.group}:{name}"] = column
        return taken


def read_config(config_id: str) -> dict[str, Any]:
    """One of the demo's configs."""
    (path,) = (PROJECT / "configs").glob(f"{config_id}.*")
    content = path.read_text("utf-8")
    loaded = json.loads(content) if path.suffix == ".json" else yaml.safe_load(content)
    return loaded[config_id]


def feature_map(config_id: str, component: str) -> dict[str, str]:
    """What a model reads: column → dtype, in the order of the model's input."""
    components = read_config(config_id)["component_config"]["predator_component_config"]
    return components[component]["inputs"]["feature_map"]


def tensor(wanted: Mapping[str, str], columns: Columns) -> np.ndarray:
    """Columns side by side as float32, each through its declared dtype first."""
    parts = [columns[name].astype(NUMPY_OF[dtype]) for name, dtype in wanted.items()]
    flat = [part if part.ndim == 2 else part[:, None] for part in parts]
    return np.concatenate([part.astype(np.float32) for part in flat], axis=1)
