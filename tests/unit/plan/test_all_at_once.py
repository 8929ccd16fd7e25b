"""One look shows everything that is wrong, whichever part of the compiler finds it."""

from __future__ import annotations

from typing import Any

import pytest

from inferflow.errors import NotFound, PlanRejected
from inferflow.plan.book import PlanBook

from ...robustness.scenario import StartScenario


def test_every_kind_of_problem_is_reported_in_one_go(shop: Any, scenario: StartScenario) -> None:
    tried = scenario("C4", "ten kinds of mistakes in one config")
    shop["ranker"]["batchsize"] = 3  # an unknown key
    shop["blend"]["data_type"] = "FP23"  # an unknown type
    shop.edges["blend"] = ["ranker"]  # a cycle
    shop.edges["ghost"] = []  # an unknown component
    shop["ranker"]["model_end_points"] = {"local": 60}  # percentages
    shop["fs_affinity"]["fs_keys"]["col"] = "user_id"  # keys that do not pair up
    shop["fs_user"]["fs_request"]["feature_groups"][0]["feature_labels"].append("citi")
    shop["blend"]["score_mapping"]["product:attributes:prize"] = "FP32"  # an unknown column
    shop["blend"]["compute_id"] = "mux"  # an unknown expression
    shop.response["features"].append("ranker:scor")  # an unknown response column
    wheres = [error.partition(": ")[0] for error in shop.errors()]
    tried.at_least("reported at once, by place", len(set(wheres)), 10)
    assert sorted(wheres) == sorted(
        [
            "component_config.predator_component_config.ranker.batchsize",
            "component_config.numerix_component_config.blend.data_type",
            "dag_execution_config.component_dependency",
            "dag_execution_config.component_dependency['ghost']",
            "ranker.model_end_points",
            "fs_affinity.fs_keys",
            "fs_user.fs_request.feature_groups[0].feature_labels",
            "blend.score_mapping['product:attributes:prize']",
            "blend.compute_id",
            "response_config.features[2]",
        ]
    )


def test_a_step_outside_the_graph_is_still_checked(shop: Any) -> None:
    shop.edges["ranker"] = []
    del shop.edges["blend"]
    shop["blend"]["compute_id"] = "mux"
    wheres = [error.partition(": ")[0] for error in shop.errors()]
    assert "component_config.blend" in wheres
    assert "blend.compute_id" in wheres


def test_a_step_on_a_cycle_is_not_also_blamed_for_reading_from_it(shop: Any) -> None:
    shop.edges["blend"] = ["fs_product"]
    [error] = shop.errors()
    assert "the graph has a cycle" in error


def test_a_rejected_plan_prints_all_of_its_problems(shop: Any) -> None:
    shop["blend"]["compute_id"] = "mux"
    shop.response["features"] = ["ranker:scor"]
    with pytest.raises(PlanRejected) as rejected:
        shop.plan()
    text = str(rejected.value)
    assert "config 'shop' has 2 problem(s):" in text
    assert "\n  error: blend.compute_id: there is no expression 'mux'" in text
    assert "\n  error: response_config.features[0]: no step writes column 'ranker:scor'" in text


def test_a_book_says_why_a_config_is_not_live(shop: Any) -> None:
    shop["blend"]["compute_id"] = "mux"
    book = PlanBook(live={"other": "at work"}, status={"shop": shop.compile()})
    assert book.get("other") == "at work"
    with pytest.raises(PlanRejected, match="there is no expression 'mux'"):
        book.get("shop")
    with pytest.raises(NotFound, match="no model config 'othr'; did you mean 'other'"):
        book.get("othr")
