"""Which way edges point, what hangs on what, and graphs that cannot run."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest

from inferflow.plan.graph import reverse

EDGES = "dag_execution_config.component_dependency"


def order(plan: Any) -> list[str]:
    return [step.name for step in plan.steps]


def needs(plan: Any) -> dict[str, set[str]]:
    return {step.name: {plan.steps[i].name for i in step.needs} for step in plan.steps}


def turn_round(shop: Any) -> None:
    """Write the same graph as what each component needs."""
    feeds = shop.edges
    shop.config["dag_execution_config"]["component_dependency"] = {
        step: list(parents) for step, parents in reverse(feeds).items() if parents
    }


# --- direction (N1) ---------------------------------------------------------------------------


def test_a_root_that_lists_components_makes_edges_children(shop: Any) -> None:
    plan = shop.plan()
    assert plan.readings[0].startswith("edges list children, because 'feature_initializer' lists")
    assert order(plan)[0] == "feature_initializer"
    assert needs(plan)["blend"] == {"ranker"}


def test_a_root_that_is_listed_makes_edges_dependencies(shop: Any) -> None:
    wanted = needs(shop.plan())
    turn_round(shop)
    plan = shop.plan()
    assert plan.readings[0].startswith("edges list dependencies, because 'feature_initializer'")
    assert needs(plan) == wanted


def test_what_direction_says_wins(shop: Any) -> None:
    wanted = needs(shop.plan())
    turn_round(shop)
    del shop.edges["fs_user"], shop.edges["fs_product"]
    shop.config["dag_execution_config"]["direction"] = "dependencies"
    plan = shop.plan()
    assert plan.readings[0] == "edges list dependencies, as `direction` says"
    assert needs(plan) == wanted


@pytest.mark.parametrize("turned", [False, True])
def test_without_the_root_the_flow_of_columns_decides(shop: Any, turned: bool) -> None:
    wanted = needs(shop.plan())
    del shop.edges["feature_initializer"]
    if turned:
        turn_round(shop)
    plan = shop.plan()
    assert plan.readings[0].endswith("because that is how columns flow")
    assert needs(plan) == wanted


def test_when_no_column_flows_the_shape_decides(shop: Any) -> None:
    shop.reads(boost="FP32")
    shop.takes("x", "FP32[N,1]")
    shop["blend"]["score_mapping"] = {"score": "FP32", "price": "FP32"}
    shop["ranker"]["outputs"] = {"score_columns": ["other"]}
    shop.response["features"] = ["ranker:other", "blend:final"]
    del shop.components["feature_component_config"]["fs_affinity"]
    edges = {"ranker": ["blend"], "fs_user": ["fs_product"]}
    shop.config["dag_execution_config"]["component_dependency"] = edges
    plan = shop.plan()
    assert plan.readings[0] == "edges list children, the custom of this config's shape"
    assert needs(plan)["blend"] == {"ranker"}


def test_a_component_without_edges_runs_after_the_root(shop: Any) -> None:
    shop.edges["fs_user"] = []
    shop.edges["feature_initializer"] = ["fs_product"]
    shop.feature_map.pop("user:profile:age")
    shop.takes("x", "FP32[N,2]")
    assert needs(shop.plan())["fs_user"] == {"feature_initializer"}


def test_a_root_with_an_empty_list_still_comes_first(shop: Any) -> None:
    wanted = needs(shop.plan())
    shop.edges["feature_initializer"] = []
    assert needs(shop.plan()) == wanted


# --- what cannot run --------------------------------------------------------------------------


@pytest.mark.scenario("C4")
def test_a_cycle_is_printed_as_a_path(shop: Any) -> None:
    shop.edges["blend"] = ["fs_affinity"]
    [error] = shop.errors()
    where, _, path = error.partition(": the graph has a cycle: ")
    assert where == EDGES
    path, _, hint = path.partition(" (")
    assert hint == "remove one of these edges)"
    steps = path.split(" → ")
    assert steps[0] == steps[-1]
    assert set(steps) == {"fs_affinity", "ranker", "blend"}
    for step, child in pairwise(steps):
        assert child in shop.edges[step]


def test_two_cycles_are_two_problems(shop: Any) -> None:
    shop.edges["fs_user"] = ["fs_user", "ranker"]
    shop.edges["blend"] = ["ranker"]
    cycles = [error for error in shop.errors() if "cycle" in error]
    assert [error.partition("cycle: ")[2] for error in cycles] == [
        "fs_user → fs_user (remove one of these edges)",
        "ranker → blend → ranker (remove one of these edges)",
    ]


def test_nothing_may_come_before_the_root(shop: Any) -> None:
    shop.edges["fs_user"] = ["feature_initializer", "ranker"]
    [error] = shop.errors()
    assert "feature_initializer → fs_user → feature_initializer" in error
    assert error.endswith("(nothing comes before 'feature_initializer')")


def test_a_root_below_a_component_that_is_itself_a_root_is_a_cycle(shop: Any) -> None:
    shop.edges["feature_initializer"] = ["fs_product"]
    shop.edges["fs_user"] = ["feature_initializer", "ranker"]
    [error] = shop.errors()
    assert "feature_initializer → fs_user → feature_initializer" in error


@pytest.mark.scenario("C4")
def test_an_unknown_component_is_named_with_the_nearest(shop: Any) -> None:
    shop.edges["ranker"] = ["blend", "blnd"]
    shop.edges["ghost"] = []
    assert shop.errors() == [
        f"{EDGES}['ghost']: no component has this name",
        f"{EDGES}['blnd']: no component has this name (closest: 'blend')",
    ]


@pytest.mark.scenario("C4")
def test_a_component_outside_the_graph_is_an_error(shop: Any) -> None:
    shop.edges["ranker"] = []
    del shop.edges["blend"]
    assert (
        f"component_config.blend: is not in the graph and would never run (add it to {EDGES})"
        in shop.errors()
    )
