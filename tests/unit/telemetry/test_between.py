"""Rates, shares and percentiles between two looks at metrics."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.telemetry.between import Look, between, look_at, look_over
from inferflow.telemetry.prometheus import Exposition
from inferflow.telemetry.tally import Tally
from inferflow.testing import failing, model

MakeShop = Callable[..., Any]


def look(tally: Tally) -> Look:
    """What both ways to look say."""
    exposition = Exposition(tally, with_process=False)
    seen = look_over(exposition.collect())
    assert look_at(exposition.render()) == seen
    return seen


def test_requests_are_told_in_all_by_config_and_by_step(make_shop: MakeShop) -> None:
    tally = Tally()
    shop = make_shop(tally)
    shop.score()
    before = look(tally)
    for _ in range(4):
        shop.score()
    shop.fail({"entities": {"user": "u1", "product": []}})
    told = between(before, look(tally), 2.0)
    assert (told["overview"]["rate"], told["overview"]["errors_per_s"]) == (2.5, 0.5)
    assert told["overview"]["in_flight"] == 0
    mine = told["configs"]["shop"]
    assert (mine["rate"], mine["error_rate"]) == (2.5, 0.2)
    assert 0 < mine["p50_ms"] <= mine["p99_ms"]
    nodes = mine["nodes"]
    assert nodes["ranker"]["rate"] == 2.0
    assert nodes["fs_product"]["cache_hit_rate"] == 1.0
    assert nodes["ranker"]["cache_hit_rate"] is None
    assert nodes["fs_user"]["error_rate"] == 0.0


def test_where_nothing_happened_there_are_no_percentiles(make_shop: MakeShop) -> None:
    tally = Tally()
    make_shop(tally).score()
    told = between(look(tally), look(tally), 1.0)
    assert told["overview"]["rate"] == 0.0
    assert told["overview"]["p99_ms"] is None
    assert told["configs"]["shop"]["p50_ms"] is None
    assert told["configs"]["shop"]["nodes"]["fs_product"]["cache_hit_rate"] is None
    assert between(Look(), Look(), 1.0)["configs"] == {}


def test_a_server_that_was_started_anew_counts_from_nothing(make_shop: MakeShop) -> None:
    old, new = Tally(), Tally()
    busy = make_shop(old)
    for _ in range(5):
        busy.score()
    make_shop(new).score()
    told = between(look(old), look(new), 1.0)
    assert told["overview"]["rate"] == 1.0
    assert told["configs"]["shop"]["nodes"]["ranker"]["rate"] == 1.0


def test_failures_of_a_step_are_a_share_of_its_runs(make_shop: MakeShop) -> None:
    tally = Tally()
    broken = model(failing(), inputs={"x": "FP32[N,3]"}, outputs={"s": "FP32[N]"})
    shop = make_shop(tally, world={"models": {"ranker": broken}})
    shop.score()
    told = between(Look(), look(tally), 1.0)
    assert told["configs"]["shop"]["nodes"]["ranker"]["error_rate"] == 1.0
    assert told["configs"]["shop"]["error_rate"] == 0.0


@given(st.lists(st.sampled_from([0.5, 1.5, 2.5, 9.0]), min_size=1, max_size=40))
def test_percentiles_are_those_of_the_difference(values: list[float]) -> None:
    bounds = [1.0, 2.0, 4.0, float("inf")]

    def buckets(seen: list[float]) -> dict[float, float]:
        return {bound: float(sum(value <= bound for value in seen)) for bound in bounds}

    earlier = [0.5, 9.0, 9.0]
    before = Look(durations={("a",): buckets(earlier)}, requests={("a", "ok"): 3.0})
    after = Look(
        durations={("a",): buckets([*earlier, *values])},
        requests={("a", "ok"): 3.0 + len(values)},
    )
    told = between(before, after, 1.0)["configs"]["a"]
    middle = sorted(values)[(len(values) - 1) // 2]
    above = min(bound for bound in bounds if middle <= bound)
    wanted = 4.0 if above == float("inf") else above
    assert told["p50_ms"] <= wanted * 1000
    assert told["rate"] == len(values)


@pytest.mark.parametrize("page", [b"", b"# TYPE other counter\nother_total 3\n"])
def test_a_page_without_our_metrics_is_empty(page: bytes) -> None:
    assert look_at(page) == Look()
