"""Feature steps whose entity only a service knows."""

from __future__ import annotations

from typing import Any

import pytest

from inferflow.dtypes import FP32, STRING
from inferflow.plan.catalog import EntityInfo, UnknownEntity
from inferflow.plan.compiler import Compiled, compile_config
from inferflow.plan.plan import FeatureStep
from inferflow.plan.query import FeatureRead, GroupRead, RunRead
from inferflow.testing import FakeCatalog


class Elsewhere(FakeCatalog):
    """A service knows all entities, and nobody here any."""

    def entity(self, label: str) -> EntityInfo | UnknownEntity | None:  # type: ignore[override]
        return UnknownEntity("features:8089")


def compiled(shop: Any, *user_groups: dict[str, Any]) -> Compiled:
    """The shop with these groups of the user, and types for all the others."""
    groups = {
        "fs_user": list(user_groups),
        "fs_product": [
            group("attributes", "FP32", "price"),
            group("kind", "Int32", "category_id"),
        ],
        "fs_affinity": [group("affinity", "FP32", "share")],
    }
    for step, wanted in groups.items():
        shop[step]["fs_request"]["feature_groups"] = wanted
    shop["fs_affinity"]["fs_keys"]["col"][1] = "product:kind:category_id"
    world = Elsewhere(models=shop.models, expressions=shop.expressions)
    return compile_config("shop", shop.config, world)


def group(label: str, data_type: str, *features: str) -> dict[str, Any]:
    return {"label": label, "feature_labels": list(features), "data_type": data_type}


def test_types_are_those_the_config_names(shop: Any) -> None:
    names = group("name", "DataTypeString", "first")
    result = compiled(shop, group("profile", "DataTypeFP32", "age", "budget"), names)
    assert result.plan is not None, [str(error) for error in result.errors]
    [step] = [
        step
        for step in result.plan.steps
        if isinstance(step, FeatureStep) and step.name == "fs_user"
    ]
    assert step.read == FeatureRead(
        "user",
        ("user_id",),
        (
            GroupRead("profile", (RunRead(FP32, ("age", "budget"), (1, 1)),)),
            GroupRead("name", (RunRead(STRING, ("first",), (1,)),)),
        ),
    )
    notes = [problem for problem in result.problems if "features:8089" in problem.what]
    assert len(notes) == 3
    assert not any(note.is_error for note in notes)


@pytest.mark.parametrize(
    ("data_type", "feature", "what"),
    [
        ("DataTypeFP32Vector", "taste", "'taste' is a vector of unknown length"),
        ("DataTypeFP32", "age@DataTypeFP16", "'age' is stored as FP32 and wanted as FP16"),
    ],
)
def test_what_a_config_does_not_say_is_a_problem(
    shop: Any, data_type: str, feature: str, what: str
) -> None:
    groups = group("profile", "Int32", "age"), group("more", data_type, feature)
    result = compiled(shop, *groups)
    assert result.plan is None
    assert any(what in problem.what for problem in result.errors), result.errors
