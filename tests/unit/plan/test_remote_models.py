"""Configs whose models run elsewhere, with servers that can be asked and servers that cannot."""

from __future__ import annotations

from typing import Any

import pytest

from inferflow.plan.catalog import Endpoint, ModelSignature, RemotePolicy, UnknownSignature
from inferflow.plan.compiler import Compiled, compile_config
from inferflow.plan.plan import ModelStep
from inferflow.testing import FakeCatalog

SERVER = "predator:8001"


class Silent(FakeCatalog):
    """Servers elsewhere do not say what they take."""

    def signature(self, endpoint: Endpoint) -> ModelSignature | UnknownSignature | None:
        if endpoint.is_local:
            return super().signature(endpoint)
        return UnknownSignature(f"{endpoint.address} does not answer")


def compiled(shop: Any, catalog: type[FakeCatalog] = Silent, **more: Any) -> Compiled:
    world = catalog(
        entities=shop.entities, models=shop.models, expressions=shop.expressions, **more
    )
    return compile_config("shop", shop.config, world)


def ranker(result: Compiled) -> ModelStep:
    assert result.plan is not None, [str(error) for error in result.errors]
    [step] = [step for step in result.plan.steps if step.name == "ranker"]
    assert isinstance(step, ModelStep)
    return step


def test_a_model_that_can_be_asked_is_fitted_like_one_of_this_process(shop: Any) -> None:
    here = ranker(compiled(shop, FakeCatalog)).arms[0]
    shop["ranker"]["model_endpoint"] = SERVER
    there = ranker(compiled(shop, FakeCatalog)).arms[0]
    assert there.endpoint == Endpoint(SERVER, "ranker", None, SERVER)
    assert (there.tensors, there.outputs) == (here.tensors, here.outputs)


def test_an_endpoint_may_name_a_model_and_a_version_of_its_own(shop: Any) -> None:
    shop.models["other@4"] = shop.models["ranker"]
    shop["ranker"]["model_end_points"] = {SERVER: 80, "canary:8001/other@4": 20}
    arms = ranker(compiled(shop, FakeCatalog)).arms
    assert [(arm.endpoint.model, arm.endpoint.version) for arm in arms] == [
        ("ranker", None),
        ("other", "4"),
    ]


def test_a_server_that_has_no_such_model_is_an_error_that_names_it(shop: Any) -> None:
    shop["ranker"]["model_endpoint"] = f"{SERVER}/nobody"
    errors = [str(error) for error in compiled(shop, FakeCatalog).errors]
    assert errors == [f"error: ranker.model_endpoint: there is no model 'nobody' at {SERVER}"]


def test_a_server_that_may_not_be_called_is_an_error_with_a_way_out(shop: Any) -> None:
    shop["ranker"]["model_endpoint"] = "evil:1"
    [error] = compiled(shop, remote=RemotePolicy(("predator:*",))).errors
    assert error.where == "ranker.model_endpoint"
    assert error.what == "'evil:1' is not among the servers this process may call"
    assert error.hint.startswith("add it to endpoint_allow in inferflow.toml; or set [endpoints]")


def test_an_alias_may_lead_to_another_host(shop: Any) -> None:
    shop["ranker"]["model_endpoint"] = "ranker-service"
    result = compiled(shop, FakeCatalog, endpoints={"ranker-service": SERVER})
    assert ranker(result).arms[0].endpoint.address == SERVER


def test_a_model_that_cannot_be_asked_takes_one_tensor_per_column_and_that_is_noted(
    shop: Any,
) -> None:
    shop["ranker"]["model_endpoint"] = SERVER
    result = compiled(shop)
    arm = ranker(result).arms[0]
    assert [(t.name, t.dtype.name, t.shape) for t in arm.tensors] == [
        ("age", "Int32", (None, 1)),
        ("price", "FP32", (None, 1)),
        ("share", "FP32", (None, 1)),
    ]
    assert [(o.tensor, o.width) for o in arm.outputs] == [("score", 1)]
    notes = [str(p) for p in result.problems if not p.is_error]
    assert (
        "note: ranker.model_endpoint: model 'ranker' could not be asked what it takes: "
        f"{SERVER} does not answer — its tensors are taken from the config, and checked when it "
        "can be asked"
    ) in notes


def test_columns_that_end_alike_go_by_their_whole_name(shop: Any) -> None:
    shop["ranker"]["model_endpoint"] = SERVER
    shop["ranker"]["inputs"] = {
        "feature_map": {"user:profile:age": "FP32", "context:age": "FP32", "price": "FP64"}
    }
    tensors = ranker(compiled(shop)).arms[0].tensors
    assert [t.name for t in tensors] == ["user:profile:age", "context:age", "price"]
    assert tensors[2].dtype.name == "FP64"


def test_tensors_that_the_config_spells_out_are_taken_at_their_word(shop: Any) -> None:
    shop["ranker"]["model_endpoint"] = SERVER
    shop["ranker"]["inputs"] = [
        {
            "name": "numbers",
            "features": ["user:profile:age", "product:attributes:price"],
            "data_type": "FP64",
            "shape": [2],
        },
        {"name": "names", "features": ["product:attributes:title"], "data_type": "BYTES"},
    ]
    shop["ranker"]["outputs"] = [
        {"name": "out", "model_scores": ["score"], "data_type": "FP16", "model_scores_dims": [[1]]}
    ]
    arm = ranker(compiled(shop)).arms[0]
    assert [(t.name, t.dtype.name, t.shape, t.width) for t in arm.tensors] == [
        ("numbers", "FP64", (None, 2), 2),
        ("names", "String", (None, None), 1),
    ]
    assert [(o.tensor, [c.dtype for c in o.columns]) for o in arm.outputs] == [
        ("out", [arm.signature.outputs[0].dtype])
    ]


@pytest.mark.parametrize("dtype", ["FP8E4M3", "FP8E5M2"])
def test_8_bit_floats_do_not_travel(shop: Any, dtype: str) -> None:
    shop["ranker"]["model_endpoint"] = SERVER
    shop["ranker"]["inputs"] = {"feature_map": {"product:attributes:price": dtype}}
    [error] = [e for e in compiled(shop).errors if "another host" in e.what]
    assert error.where == "ranker.inputs['price']"
    assert error.hint == "declare FP16 or FP32"


def test_a_plan_changes_when_the_model_can_be_asked(shop: Any) -> None:
    shop["ranker"]["model_endpoint"] = SERVER
    before, after = compiled(shop).plan, compiled(shop, FakeCatalog).plan
    assert before is not None
    assert after is not None
    assert before.digest != after.digest
