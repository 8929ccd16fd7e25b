"""What the metrics page shows."""

from __future__ import annotations

import threading
import weakref
from bisect import bisect_left
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from inferflow.engine.observer import Mode, RequestStats
from inferflow.engine.recording import StepRecord
from inferflow.telemetry import table
from inferflow.telemetry.histogram import LATENCY_S, ROWS, Histogram
from inferflow.telemetry.prometheus import Exposition
from inferflow.telemetry.table import METRICS
from inferflow.telemetry.tally import Tally

MODES = get_args(Mode)
SEEN_BY_A_SERVER = {
    metric.name
    for metric in (
        table.FORECAST,
        table.DRIFT,
        table.DRIFTING,
        table.DRIFT_EPISODES,
        table.DRIFT_MESSAGES,
    )
}
SEEN_BY_A_PARENT = {
    metric.name
    for metric in (
        table.PROCESSES,
        table.PROCESSES_READY,
        table.PROCESSES_BEHIND,
        table.PROCESS_RESTARTS,
    )
}
SEEN_BY_FOLLOWING_ETCD = {
    metric.name for metric in (table.CONFIG_STALE, table.CONFIG_RESYNCS, table.CONFIG_DRIFTS)
}
SEEN_BY_WATCHING_A_CACHE = {
    "inferflow_cache_items",
    "inferflow_cache_bytes",
    "inferflow_cache_limit_bytes",
}


@pytest.fixture
def tally() -> Tally:
    return Tally()


def samples(tally: Tally) -> dict[tuple[str, tuple[str, ...]], float]:
    """(name, label values in the order of the table) → value."""
    order = {metric.name: metric.labels for metric in METRICS}
    found = {}
    for family in text_string_to_metric_families(
        Exposition(tally, with_process=False).render().decode()
    ):
        for sample in family.samples:
            base = sample.name
            for ending in ("_bucket", "_sum", "_count"):
                base = base.removesuffix(ending) if base not in order else base
            labels = (*order[base], *(["le"] if sample.name.endswith("_bucket") else []))
            assert set(sample.labels) == set(labels)
            found[sample.name, tuple(sample.labels[name] for name in labels)] = sample.value
    return found


def test_a_request_is_counted_by_config_mode_and_outcome(make_shop, tally):
    shop = make_shop(tally)
    shop.score()
    shop.score()
    shop.fail({"entities": {}})
    found = samples(tally)
    assert found["inferflow_requests_total", ("shop", "pointwise", "ok")] == 2
    assert found["inferflow_requests_total", ("shop", "pointwise", "caller")] == 1
    assert found["inferflow_request_duration_seconds_count", ("shop", "pointwise")] == 3
    assert found["inferflow_request_rows_sum", ("shop", "pointwise")] == 6
    assert found["inferflow_requests_in_flight", ("shop",)] == 0


def test_steps_show_executions_features_cache_and_calls(make_shop, tally):
    shop = make_shop(tally)
    shop.score()
    shop.score(entities={"user": "u1", "product": ["p1", "p4", "p4"]})
    found = samples(tally)
    product = ("shop", "fs_product", "feature")
    assert found["inferflow_step_duration_seconds_count", product] == 2
    assert found["inferflow_step_features_total", product] == (3 + 2) * 2
    assert found["inferflow_cache_requests_total", product] == 5
    assert found["inferflow_cache_misses_total", product] == 4
    store = ("shop", "fs_product", "feature_store", "")
    assert found["inferflow_calls_total", store] == 2
    assert found["inferflow_call_keys_total", store] == 4
    assert found["inferflow_calls_total", ("shop", "ranker", "model", "local")] == 2
    assert found["inferflow_call_duration_seconds_count", ("shop", "ranker", "model", "local")] == 2
    for step, kind in (("ranker", "model"), ("blend", "compute")):
        assert found["inferflow_step_conversion_seconds_total", ("shop", step, kind)] > 0


def test_errors_are_counted_by_type(make_shop, tally):
    shop = make_shop(tally)
    shop.world.features.broken = "no route"
    shop.score()
    errors = {key: n for key, n in samples(tally).items() if key[0].endswith("step_errors_total")}
    assert errors["inferflow_step_errors_total", ("shop", "fs_user", "feature", "store", "")] == 1


def test_a_request_under_way_is_in_flight(make_shop, tally):
    plan = make_shop(tally).scorer.plan
    tally.request_started(plan)
    assert samples(tally)["inferflow_requests_in_flight", ("shop",)] == 1


def test_plans_show_their_version_and_their_problems(tally):
    tally.plan_live("a", "v1")
    tally.plan_live("a", "v2")
    tally.plan_rejected("a", 3)
    found = samples(tally)
    assert found["inferflow_plan_reloads_total", ("a",)] == 2
    assert found["inferflow_plan_rejections_total", ("a",)] == 1
    assert found["inferflow_plan_problems", ("a",)] == 3
    assert [key for key in found if key[0] == "inferflow_plan_info"] == [
        ("inferflow_plan_info", ("a", "v2"))
    ]
    tally.plan_live("a", "v3")
    assert samples(tally)["inferflow_plan_problems", ("a",)] == 0


def test_the_series_of_a_removed_config_end(make_shop, tally):
    make_shop(tally).score()
    tally.plan_live("shop", "v1")
    tally.plan_live("kept", "v1")
    tally.plan_removed("shop")
    tally.plan_removed("never there")
    assert {labels[0] for name, labels in samples(tally) if "build" not in name} == {"kept"}


def test_every_metric_of_the_table_is_shown_and_no_other(make_shop, tally):
    shop = make_shop(tally)
    shop.score()
    shop.world.features.broken = "no route"
    shop.world.clock.advance(100)
    shop.score()
    tally.plan_live("shop", "v1")
    tally.plan_rejected("shop", 1)
    tally.arm_chosen("split", "shop")
    tally.logs_sent("shop", 2)
    tally.logs_failed("shop", "encoding_error", 1)
    tally.call_ended("/Predict/InferPointWise", 0, 0.001)
    page = Exposition(tally, with_process=False).render().decode()
    shown = {line.split()[2] for line in page.splitlines() if line.startswith("# TYPE")}
    assert (
        shown
        == {metric.name for metric in METRICS}
        - SEEN_BY_WATCHING_A_CACHE
        - SEEN_BY_A_PARENT
        - SEEN_BY_A_SERVER
        - SEEN_BY_FOLLOWING_ETCD
    )


def test_what_is_watched_is_read_for_each_page(tally):
    exposition = Exposition(tally, with_process=False)
    count = iter([1, 2])
    exposition.watch(table.PROCESS_RESTARTS, lambda: next(count))
    for expected in (b"1.0", b"2.0"):
        assert b"\ninferflow_process_restarts_total " + expected in exposition.render()


def test_a_process_shows_its_memory_beside(tally):
    assert b"python_info" in Exposition(tally).render()


def test_requests_of_many_threads_are_all_counted(make_shop, tally):
    shops = [make_shop(tally) for _ in range(4)]
    threads = [
        threading.Thread(target=lambda shop=shop: [shop.score() for _ in range(100)])
        for shop in shops
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = samples(tally)
    assert found["inferflow_requests_total", ("shop", "pointwise", "ok")] == 400
    assert found["inferflow_step_duration_seconds_count", ("shop", "blend", "compute")] == 400


# --- bounds -----------------------------------------------------------------------------------


def test_configs_beyond_the_bound_are_counted_together(make_shop):
    tally = Tally(most_configs=2)
    for number in range(20):
        make_shop(tally, f"shop{number}").score()
        tally.plan_live(f"plan{number}", "v")
        tally.plan_rejected(f"plan{number}", 1)
    found = samples(tally)
    configs = {labels[0] for name, labels in found if name != "inferflow_build_info"}
    assert configs == {"shop0", "plan0", "other"}
    assert found["inferflow_requests_total", ("other", "pointwise", "ok")] == 19
    steps = {labels[1] for name, labels in found if name.startswith("inferflow_step_duration")}
    assert steps == {"feature_initializer", "fs_user", "fs_product", "ranker", "blend", "other"}


def test_a_place_that_was_freed_is_given_away(make_shop):
    tally = Tally(most_configs=1)
    make_shop(tally, "first").score()
    tally.plan_removed("first")
    make_shop(tally, "second").score()
    assert ("inferflow_requests_total", ("second", "pointwise", "ok")) in samples(tally)


def test_endpoints_and_methods_beyond_their_bounds_are_counted_together(make_shop):
    tally = Tally()
    plan = make_shop(tally).scorer.plan
    for number in range(50):
        records = [StepRecord(step.name, "model") for step in plan.steps]
        for record in records:
            record.duration_us, record.calls, record.calls_us = 9.0, 1, 1.0
            record.endpoint, record.failure = f"host{number}:1", "ModelFailed"
        tally.request_ended(RequestStats(plan, "pointwise", records))
    for number in range(3_000):
        tally.call_ended(f"/m{number}", 0, 0.1)
    found = samples(tally)
    called = [at for name, at in found if name == "inferflow_calls_total"]
    at_ranker = {endpoint for _, step, _, endpoint in called if step == "ranker"}
    assert len(at_ranker) == 17
    assert found["inferflow_calls_total", ("shop", "ranker", "model", "other")] == 34
    failed = {at[4] for name, at in found if name.endswith("errors_total") and at[1] == "ranker"}
    assert failed == at_ranker
    assert len({at[0] for name, at in found if name.startswith("inferflow_server_call")}) == 1_001


# --- counting -----------------------------------------------------------------------------------


def test_latency_buckets_reach_from_ten_microseconds_to_ten_seconds():
    assert (LATENCY_S[0], LATENCY_S[-1]) == (1e-5, 10.0)
    assert sorted(set(LATENCY_S)) == list(LATENCY_S)


@given(st.lists(st.sampled_from([*ROWS, 0.5, 3, 70, 99_999])))
def test_a_histogram_agrees_with_counting_by_hand(values):
    histogram = Histogram(ROWS)
    for value in values:
        histogram.add(value)
    assert histogram.count == len(values)
    assert histogram.total == pytest.approx(sum(values))
    for text, count in histogram.cumulative():
        assert count == sum(value <= float(text) for value in values)


def test_requests_of_a_plan_that_was_replaced_are_not_held_until_somebody_reads():
    tally = Tally()
    held = []
    for version in range(50):
        plan = _Plan()
        plan.digest = str(version)
        held.append(weakref.ref(plan))
        tally.request_started(plan)  # type: ignore[arg-type]
        record = StepRecord("only", "model")
        tally.request_ended(RequestStats(plan, MODES[0], [record], 1, 0.001, ""))  # type: ignore[arg-type]
    del plan
    assert [number for number, each in enumerate(held) if each() is not None] == [49]
    assert samples(tally)["inferflow_requests_total", ("c", MODES[0], "ok")] == 50


@given(
    st.lists(
        st.tuples(
            st.sampled_from(MODES),
            st.sampled_from(["", "late", "ours", "cancelled"]),
            st.integers(0, 500),
            st.integers(1, 10_000_000),
            st.booleans(),
        ),
        max_size=80,
    )
)
def test_counting_in_piles_agrees_with_counting_one_by_one(requests):
    plan = _Plan()
    tally = Tally()
    for mode, outcome, rows, micros, failed in requests:
        record = StepRecord("only", "model")
        record.duration_us = float(micros)
        record.failure = "ModelFailed" if failed else ""
        tally.request_started(plan)  # type: ignore[arg-type]
        tally.request_ended(
            RequestStats(plan, mode, [record], rows, micros * 1e-6, outcome)  # type: ignore[arg-type]
        )
    found = samples(tally)
    for mode in MODES:
        for outcome in ("ok", "late", "ours", "cancelled"):
            expected = sum(r[0] == mode and (r[1] or "ok") == outcome for r in requests)
            assert found.get(("inferflow_requests_total", ("c", mode, outcome)), 0) == expected
        mine = [r for r in requests if r[0] == mode]
        assert found.get(("inferflow_request_rows_sum", ("c", mode)), 0) == sum(r[2] for r in mine)
    at = ("c", "only", "model")
    buckets = [0] * (len(LATENCY_S) + 1)
    for _, _, _, micros, _ in requests:
        buckets[bisect_left(LATENCY_S, micros * 1e-6)] += 1
    so_far = 0
    for bound, count in zip(LATENCY_S, buckets, strict=False):
        so_far += count
        shown = found.get(("inferflow_step_duration_seconds_bucket", (*at, repr(bound))), 0)
        assert shown == so_far
    assert found.get(("inferflow_step_errors_total", (*at, "model", "")), 0) == sum(
        r[4] for r in requests
    )


class _Step:
    name, kind = "only", "model"


class _Plan:
    config_id, digest, steps = "c", "d", (_Step(),)
