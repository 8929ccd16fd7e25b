"""A small shop whose config every test may change before it is compiled."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from inferflow.plan.compiler import Compiled
from inferflow.plan.plan import Plan, Step
from inferflow.plan.problems import Problem
from inferflow.testing import FakeCatalog, FakeModel, World, entity, model

CONFIG: dict[str, Any] = {
    "dag_execution_config": {
        "component_dependency": {
            "feature_initializer": ["fs_user", "fs_product"],
            "fs_user": ["ranker"],
            "fs_product": ["fs_affinity"],
            "fs_affinity": ["ranker"],
            "ranker": ["blend"],
            "blend": [],
        }
    },
    "component_config": {
        "feature_component_config": {
            "fs_user": {
                "fs_keys": {"schema": ["user_id"], "col": "context:user:user_id"},
                "fs_request": {
                    "entity_label": "user",
                    "feature_groups": [{"label": "profile", "feature_labels": ["age", "income"]}],
                },
                "col_name_prefix": "user",
            },
            "fs_product": {
                "fs_keys": {"schema": ["product_id"], "col": "context:product:product_id"},
                "fs_request": {
                    "entity_label": "product",
                    "feature_groups": [
                        {
                            "label": "attributes",
                            "feature_labels": ["category_id", "price", "title", "embedding"],
                        }
                    ],
                },
                "col_name_prefix": "product",
            },
            "fs_affinity": {
                "fs_keys": {
                    "schema": ["user_id", "category_id"],
                    "col": ["context:user:user_id", "product:attributes:category_id"],
                },
                "fs_request": {
                    "entity_label": "user_category",
                    "feature_groups": [{"label": "affinity", "feature_labels": ["share"]}],
                },
                "col_name_prefix": "user_category",
            },
        },
        "predator_component_config": {
            "ranker": {
                "model_name": "ranker",
                "inputs": {
                    "feature_map": {
                        "user:profile:age": "INT32",
                        "product:attributes:price": "FP32",
                        "user_category:affinity:share": "FP32",
                    }
                },
                "outputs": {"score_columns": ["score"]},
            }
        },
        "numerix_component_config": {
            "blend": {
                "score_column": "final",
                "score_mapping": {"ranker:score": "FP32", "product:attributes:price": "FP32"},
                "compute_id": "mix",
            }
        },
    },
    "response_config": {"features": ["ranker:score", "blend:final"]},
}


class Shop:
    """The config as a test has it now, its parts by name, and the world it meets."""

    def __init__(self) -> None:
        self.config = copy.deepcopy(CONFIG)
        self.entities = [
            entity("user", profile={"age": "INT32", "income": "FP32", "city": "String"}),
            entity(
                "product",
                attributes={
                    "category_id": "INT32",
                    "price": ("FP32", 9.5),
                    "title": "String",
                    "embedding": "FP32Vector[3]",
                },
            ),
            entity("user_category", "user_id", "category_id", affinity={"share": "FP32"}),
        ]
        self.models: dict[str, FakeModel] = {}
        self.takes("x", "FP32[N,3]")
        self.expressions: dict[str, Any] = {"mix": "0.8 * score + 0.2 * price"}
        self.endpoints: dict[str, str] = {}

    def takes(self, *inputs: str, **outputs: str) -> None:
        """Make the ranker a model with these inputs (name, type, name, type, …) and outputs."""
        tensors = dict(zip(inputs[::2], inputs[1::2], strict=True))
        self.models["ranker"] = model(lambda *x: x[0], inputs=tensors, outputs=outputs or None)

    @property
    def edges(self) -> dict[str, Any]:
        edges: dict[str, Any] = self.config["dag_execution_config"]["component_dependency"]
        return edges

    @property
    def components(self) -> dict[str, Any]:
        components: dict[str, Any] = self.config["component_config"]
        return components

    @property
    def response(self) -> dict[str, Any]:
        response: dict[str, Any] = self.config["response_config"]
        return response

    def __getitem__(self, name: str) -> dict[str, Any]:
        """A component by name, whatever its kind."""
        for kind in ("feature", "predator", "numerix"):
            found = self.components[f"{kind}_component_config"].get(name)
            if found is not None:
                component: dict[str, Any] = found
                return component
        raise KeyError(name)

    @property
    def feature_map(self) -> dict[str, Any]:
        columns: dict[str, Any] = self["ranker"]["inputs"]["feature_map"]
        return columns

    def reads(self, **columns: Any) -> None:
        """Make the ranker read exactly these columns, `__` standing for the colons."""
        self["ranker"]["inputs"]["feature_map"] = {
            name.replace("__", ":"): use for name, use in columns.items()
        }

    def world(self) -> World:
        return World(
            entities=self.entities,
            models=self.models,
            expressions=self.expressions,
            endpoints=self.endpoints,
        )

    def compile(self) -> Compiled:
        return self.world().compile({"shop": self.config})

    def plan(self) -> Plan:
        return self.world().plan({"shop": self.config})

    def step(self, name: str) -> Any:
        """A compiled step."""
        found: Step = next(step for step in self.plan().steps if step.name == name)
        return found

    def errors(self) -> list[str]:
        """Every error as `where: what (hint)`. A config with errors never has a plan."""
        compiled = self.compile()
        assert (compiled.plan is None) == bool(compiled.errors)
        return [_text(problem) for problem in compiled.errors]

    def notes(self) -> list[str]:
        return [_text(problem) for problem in self.plan().notes]


def _text(problem: Problem) -> str:
    hint = f" ({problem.hint})" if problem.hint else ""
    return f"{problem.where}: {problem.what}{hint}"


@pytest.fixture
def shop() -> Shop:
    return Shop()


@pytest.fixture(scope="session")
def shop_document() -> dict[str, Any]:
    """The config of the shop, for tests that only read it."""
    return copy.deepcopy(CONFIG)


@pytest.fixture(scope="session")
def shop_catalog() -> FakeCatalog:
    return Shop().world().catalog
