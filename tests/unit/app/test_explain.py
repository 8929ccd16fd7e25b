"""What `explain` says about a plan and about a request."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from inferflow.app.explain import Explanation, explain_plan, explain_recording
from inferflow.engine.request import request_from
from inferflow.errors import InvalidInput, NotFound, StepFailed
from inferflow.testing import EXPIRED, World, entity, failing, model

USER = entity("user", "user_id", profile={"age": ("INT32", 41), "budget": "FP32"})
PRODUCT = entity(
    "product",
    "product_id",
    facts={"category": "INT32", "price": ("FP32", 9.5)},
    trend={"views": ("INT32", 0)},
)
AFFINITY = entity("affinity", "user_id", "category", history={"share": ("FP32", 0.25)})
ROWS: dict[str, Any] = {
    "user:profile": {"7": {"age": 31, "budget": 20.0}},
    "product:facts": {
        "1": {"category": 5, "price": 2.0},
        "2": {"category": 6},
        "3": EXPIRED,
        "4": {"category": 5, "price": 4.0},
    },
    "product:trend": {"1": {"views": 10}, "2": {"views": 20}},
    "affinity:history": {("7", "5"): {"share": 0.75}},
}
CONFIG: dict[str, Any] = {
    "dag_execution_config": {
        "component_dependency": {
            "feature_initializer": ["fs_user", "fs_product"],
            "fs_user": ["click"],
            "fs_product": ["fs_affinity"],
            "fs_affinity": ["click"],
            "click": ["blend"],
            "blend": [],
        }
    },
    "component_config": {
        "feature_component_config": {
            "fs_user": {
                "fs_keys": {"schema": ["user_id"], "col": "context:user:user_id"},
                "fs_request": {
                    "entity_label": "user",
                    "feature_groups": [{"label": "profile", "feature_labels": ["age", "budget"]}],
                },
                "col_name_prefix": "user",
            },
            "fs_product": {
                "fs_keys": {"schema": ["product_id"], "col": "context:product:product_id"},
                "fs_request": {
                    "entity_label": "product",
                    "feature_groups": [
                        {"label": "facts", "feature_labels": ["category", "price"]},
                        {"label": "trend", "feature_labels": ["views"]},
                    ],
                },
                "col_name_prefix": "product",
                "comp_cache_enabled": True,
                "comp_cache_ttl": 60,
            },
            "fs_affinity": {
                "fs_keys": {
                    "schema": ["user_id", "category"],
                    "col": ["context:user:user_id", "product:facts:category"],
                },
                "fs_request": {
                    "entity_label": "affinity",
                    "feature_groups": [{"label": "history", "feature_labels": ["share"]}],
                },
                "col_name_prefix": "affinity",
            },
        },
        "predator_component_config": {
            "click": {
                "model_name": "clicks",
                "deadline": 250,
                "inputs": {
                    "feature_map": {
                        "user:profile:age": "FP32",
                        "product:facts:price": "FP32",
                        "affinity:history:share": "FP32",
                        "hour": "FP32",
                    }
                },
                "outputs": {"score_columns": ["score"]},
            }
        },
        "numerix_component_config": {
            "blend": {
                "compute_id": "half",
                "score_column": "final",
                "data_type": "FP32",
                "score_mapping": {"click:score": "FP32"},
            }
        },
        "cache_enabled": True,
    },
    "response_config": {"features": ["click:score", "blend:final"]},
}
REQUEST: dict[str, Any] = {
    "entities": {"user": "7", "product": ["1", "2", "3", "4", "9"]},
    "context": {"hour": 13},
}


def clicks(x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return x.sum(axis=1)


def broken_model(why: str) -> dict[str, Any]:
    return {"clicks": model(failing(why), inputs={"x": "FP32[N,4]"})}


def world(**changes: Any) -> World:
    parts: dict[str, Any] = {
        "entities": [USER, PRODUCT, AFFINITY],
        "features": ROWS,
        "models": {"clicks": model(clicks, inputs={"x": "FP32[N,4]"})},
        "expressions": {"half": "0.5 * score"},
    }
    return World(**{**parts, **changes})


def explained(
    request: dict[str, Any] = REQUEST, config: dict[str, Any] = CONFIG, **changes: Any
) -> Explanation:
    scores, recording = world(**changes).record(config, request)
    recording.at_ms = 1_700_000_000_000 + 90_000  # the fake store's rows are 90 s old
    return explain_recording(recording, scores)


def step(explanation: Explanation, name: str) -> dict[str, Any]:
    (found,) = [each for each in explanation.to_dict()["steps"] if each["step"] == name]
    return dict(found)


def column(explanation: Explanation, item: str, name: str) -> dict[str, Any]:
    (row,) = explanation.item(item).to_dict()["rows"]
    (found,) = [each for each in row["columns"] if each["column"] == name]
    return dict(found)


def changed(config: dict[str, Any], component: str, **fields: Any) -> dict[str, Any]:
    """The config with fields of one component replaced."""
    copy: dict[str, Any] = json.loads(json.dumps(config))
    for components in copy["component_config"].values():
        if isinstance(components, dict) and component in components:
            components[component].update(fields)
    return copy


# --- plans ----------------------------------------------------------------------------------


def test_a_plan_says_what_each_step_reads_and_writes() -> None:
    facts = explain_plan(world().plan(CONFIG)).to_dict()
    steps = {each["step"]: each for each in facts["steps"]}
    assert steps["fs_affinity"]["keys"] == [
        {"key": "user_id", "column": "context:user:user_id"},
        {"key": "category", "column": "product:facts:category"},
    ]
    assert steps["fs_affinity"]["after"] == ["fs_product"]
    assert steps["fs_user"]["writes"] == [
        {"column": "user:profile:age", "dtype": "Int32", "per": "target", "default": 41},
        {"column": "user:profile:budget", "dtype": "FP32", "per": "target", "default": None},
    ]
    (arm,) = steps["click"]["arms"]
    (tensor,) = arm["tensors"]
    assert [each["column"] for each in tensor["columns"]][-1] == "hour"
    assert tensor["shape"] == [None, 4]
    assert steps["click"]["timeout_ms"] == 250
    assert steps["fs_product"]["cache_ttl_s"] == 60
    assert steps["blend"]["variables"] == {"score": "click:score"}


def test_the_text_of_a_plan_names_every_step_and_column() -> None:
    explanation = explain_plan(world().plan(CONFIG))
    text = str(explanation)
    for each in explanation.to_dict()["steps"]:
        assert each["step"] in text
        for written in each["writes"]:
            assert written["column"] in text
    assert "cached for 1 min" in text
    assert "timeout 250 ms" in text
    assert "default 41" in text
    assert "no default" in text


def test_the_readings_and_notes_of_a_plan_are_told() -> None:
    text = str(explain_plan(world().plan(CONFIG)))
    assert "edges list children" in text
    assert "column 'hour' is written by no step" in text


def test_every_way_to_give_a_request_column_is_one_the_engine_takes() -> None:
    scorer = world().scorer(CONFIG)
    ways = {
        each["column"]: each["give_as"]
        for each in explain_plan(scorer.plan).to_dict()["request_columns"]
    }
    usual = {
        "context:user:user_id": "entities.user",
        "context:product:product_id": "entities.product",
        "hour": "context.hour",
    }
    assert set(ways) == set(usual)
    for name, listed in ways.items():
        assert usual[name] in listed
        for way in listed:
            request: dict[str, Any] = {"entities": {}, "context": {}, "features": {}}
            for place in {**usual, name: way}.values():
                part, _, rest = place.partition(".")
                owner, _, inner = rest.partition(".")
                if inner:
                    request[part].setdefault("product", {})[inner] = ["7", "7"]
                else:
                    request[part][owner] = {"context": "7"}.get(part, ["1", "2"])
            asked = request_from(request, config_id="config")
            assert len(scorer.score_now(asked)) == 2, way


def test_shares_of_traffic_sum_to_all_of_it() -> None:
    routed = changed(
        CONFIG,
        "click",
        model_end_points={"local:clicks@1": 30, "local:other": 20},
        model_endpoint="local:clicks",
    )
    models = {
        "clicks": model(clicks, inputs={"x": "FP32[N,4]"}),
        "other": model(clicks, inputs={"x": "FP32[N,4]"}),
    }
    facts = explain_plan(world(models=models).plan(routed)).to_dict()
    (click,) = [each for each in facts["steps"] if each["step"] == "click"]
    assert [arm["percent"] for arm in click["arms"]] == [30, 20, 50]


def test_a_plan_has_no_items() -> None:
    with pytest.raises(InvalidInput, match="request"):
        explain_plan(world().plan(CONFIG)).item("1")


# --- requests, step by step -----------------------------------------------------------------


def test_steps_tell_rows_keys_and_the_model_that_answered() -> None:
    explanation = explained()
    assert step(explanation, "fs_product")["unique_keys"] == 5
    assert step(explanation, "fs_affinity")["unique_keys"] == 2
    click = step(explanation, "click")
    assert (click["rows"], click["answered_by"], click["batches"]) == (5, "clicks@1", 1)


def test_steps_follow_each_other_in_time() -> None:
    facts = explained().to_dict()
    starts = [each["start_us"] for each in facts["steps"]]
    assert starts == sorted(starts)
    assert all(0 <= each["start_us"] <= facts["total_us"] for each in facts["steps"])


def test_a_second_request_hits_the_cache() -> None:
    scorer = world().scorer(CONFIG)
    request = request_from(REQUEST, config_id="config")
    hits = []
    for _ in range(2):
        recording = scorer.new_recording()
        scores = scorer.score_now(request, recording)
        hits.append(step(explain_recording(recording, scores), "fs_product")["cache_hits"])
    assert hits == [0, 5]


def test_values_that_are_not_the_stores_own_are_counted_by_reason() -> None:
    explanation = explained()
    assert step(explanation, "fs_product")["stand_ins"] == {
        "facts": {"missing": 1, "expired": 1, "default": 1},
        "trend": {"missing": 3},
    }
    assert "facts: 1 expired" in str(explanation)


def test_rows_without_a_key_are_counted() -> None:
    affinity = step(explained(), "fs_affinity")
    assert affinity["without_key"] == 2  # the expired product and the unknown one


def test_a_failing_step_shows_its_error_and_how_many_rows_it_cost() -> None:
    explanation = explained(models=broken_model("out of memory"))
    assert "out of memory" in step(explanation, "click")["error"]
    assert step(explanation, "click")["blank"] == 5
    assert step(explanation, "blend")["skipped"] == "no row has all inputs"
    assert "out of memory" in str(explanation)
    ((error, count),) = explanation.to_dict()["errors"]["targets"].items()
    assert "out of memory" in error
    assert count == 5


def test_parts_of_a_request_that_nothing_reads_are_told() -> None:
    explanation = explained({**REQUEST, "context": {"hour": 1, "colour": "red"}})
    assert explanation.to_dict()["unused"] == ["context.colour"]
    assert "context.colour" in str(explanation)


def test_the_rule_by_which_a_column_was_found_is_told() -> None:
    bound = {each["column"]: each for each in explained().to_dict()["bound"]}
    assert bound["context:user:user_id"] == {
        "column": "context:user:user_id",
        "from": "entities.user",
        "rule": "entity of its first segment",
    }


def test_a_request_that_fails_is_explained_up_to_where_it_failed() -> None:
    strict = changed(CONFIG, "click", on_error="fail")
    scorer = world(models=broken_model("out of memory")).scorer(strict)
    recording = scorer.new_recording()
    with pytest.raises(StepFailed) as failed:
        scorer.score_now(request_from(REQUEST, config_id="config"), recording)
    explanation = explain_recording(recording, failure=str(failed.value))
    assert explanation.failure == str(failed.value)
    assert "out of memory" in step(explanation, "click")["error"]
    assert step(explanation, "blend")["skipped"] == "not reached"
    assert step(explanation, "fs_user")["skipped"] == ""
    assert "failed: step 'click'" in str(explanation)
    assert column(explanation, "1", "product:facts:price")["value"] == 2.0
    (row,) = explanation.item("1").to_dict()["rows"]
    assert "click:score" not in {each["column"] for each in row["columns"]}


# --- requests, one item ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "name", "value", "state"),
    [
        ("1", "product:facts:price", 2.0, "real"),
        ("2", "product:facts:price", 9.5, "default"),
        ("3", "product:facts:price", 9.5, "expired"),
        ("9", "product:facts:price", 9.5, "missing"),
        ("1", "affinity:history:share", 0.75, "real"),
        ("2", "affinity:history:share", 0.25, "missing"),
        ("3", "affinity:history:share", 0.25, "missing"),
        ("1", "hour", 13.0, "given"),
        ("1", "context:product:product_id", "1", "given"),
        ("1", "click:score", 31 + 2.0 + 0.75 + 13, "computed"),
    ],
)
def test_an_item_has_every_column_with_its_value_and_state(
    item: str, name: str, value: Any, state: str
) -> None:
    found = column(explained(), item, name)
    assert (found["value"], found["state"]) == (value, state)


def test_an_item_says_which_key_a_value_was_read_by() -> None:
    explanation = explained()
    derived = column(explanation, "1", "affinity:history:share")
    assert derived["source"] == "affinity[user_id=7, category=5]"
    assert column(explanation, "3", "affinity:history:share")["source"] == "affinity[no key]"


def test_an_item_says_how_old_a_value_is() -> None:
    explanation = explained()
    assert column(explanation, "1", "product:facts:price")["age_s"] == 90
    assert "age_s" not in column(explanation, "9", "product:facts:price")
    assert "1.5 min" in str(explanation.item("1"))


def test_a_stand_in_nobody_declared_says_so() -> None:
    explanation = explained({**REQUEST, "entities": {"user": "8", "product": ["1", "2"]}})
    assert column(explanation, "1", "user:profile:age")["has_default"] is True
    assert column(explanation, "1", "user:profile:budget")["has_default"] is False
    text = str(explanation.item("1"))
    assert "missing, default used" in text
    assert "missing, no default declared" in text


def test_a_value_the_request_brings_itself_is_pinned() -> None:
    explanation = explained(
        {**REQUEST, "features": {"product": {"product:facts:price": [1.0, 1.5, 2.0, 2.5, 3.0]}}}
    )
    found = column(explanation, "9", "product:facts:price")
    assert (found["value"], found["state"]) == (3.0, "pinned")
    assert found["source"] == "features.product.product:facts:price"
    assert column(explanation, "9", "product:facts:category")["state"] == "missing"


def test_a_store_that_cannot_be_asked_gives_failed_values() -> None:
    broken = world()
    broken.features.broken = "the store is away"
    scores, recording = broken.record(CONFIG, REQUEST)
    explanation = explain_recording(recording, scores)
    found = column(explanation, "1", "product:facts:price")
    assert (found["value"], found["state"]) == (9.5, "failed")
    (row,) = explanation.item("1").to_dict()["rows"]
    assert "the store is away" in row["error"]


def test_a_score_that_is_not_there_is_blank_and_one_that_stands_in_is_a_default() -> None:
    broken = broken_model("no")
    left_out = column(explained(models=broken), "1", "click:score")
    assert (left_out["value"], left_out["state"]) == (None, "blank")
    lenient = changed(CONFIG, "click", on_error="default")
    filled = column(explained(config=lenient, models=broken), "1", "click:score")
    assert (filled["value"], filled["state"]) == (0.0, "default")


def test_a_computed_score_shows_what_it_was_computed_from() -> None:
    assert column(explained(), "1", "blend:final")["source"] == "half(score=46.75)"


def test_an_item_shows_its_scores_first() -> None:
    (row,) = explained().item("1").to_dict()["rows"]
    assert row["scores"] == {"click:score": 46.75, "blend:final": 23.375}


def test_a_target_asked_for_twice_is_explained_twice() -> None:
    twice = {"entities": {"user": "7", "product": ["1", "2", "1"]}, "context": {"hour": 13}}
    rows = explained(twice).item("1").to_dict()["rows"]
    assert [row["row"] for row in rows] == [0, 2]


def test_an_unknown_item_is_refused_with_the_nearest_one() -> None:
    named = {"entities": {"user": "7", "product": ["shoe-1", "boot-2"]}, "context": {"hour": 13}}
    with pytest.raises(NotFound, match="did you mean 'shoe-1'"):
        explained(named).item("shoe1")


def test_facts_are_plain_values() -> None:
    explanation = explained()
    for facts in (
        explain_plan(world().plan(CONFIG)).to_dict(),
        explanation.to_dict(),
        explanation.item("3").to_dict(),
    ):
        assert json.loads(json.dumps(facts)) == facts


# --- pairs ----------------------------------------------------------------------------------


def test_an_item_lists_the_pairs_it_is_part_of() -> None:
    pairwise = changed(CONFIG, "blend", slate_component=True)
    pairwise["response_config"]["features"] = ["click:score", "blend:final"]
    request = {**REQUEST, "pairs": [[0, 1], [1, 2], [3, 0]]}
    explanation = explained(request, config=pairwise)
    (row,) = explanation.item("1").to_dict()["rows"]
    assert [(pair["number"], pair["members"]) for pair in row["pairs"]] == [
        (0, ["1", "2"]),
        (2, ["4", "1"]),
    ]
    assert step(explanation, "blend")["unit"] == "pair"
    assert "pair 2: 4, 1" in str(explanation.item("1"))
