"""One page for several processes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from inferflow.telemetry.merging import merge
from inferflow.telemetry.prometheus import Exposition
from inferflow.telemetry.tally import Tally

PAGE = """\
# HELP inferflow_requests_total Requests.
# TYPE inferflow_requests_total counter
inferflow_requests_total{{config="a",mode="pointwise",outcome="ok"}} {n}
# TYPE inferflow_plan_problems gauge
inferflow_plan_problems{{config="a"}} {n}
# TYPE inferflow_requests_in_flight gauge
inferflow_requests_in_flight{{config="a"}} {n}
# TYPE process_start_time_seconds gauge
process_start_time_seconds {n}
# TYPE process_resident_memory_bytes gauge
process_resident_memory_bytes {n}
# TYPE t histogram
t_bucket{{le="1.0"}} {n}
t_bucket{{le="+Inf"}} {n}
t_count {n}
t_sum {n}
"""


def page(n: float) -> bytes:
    return PAGE.format(n=n).encode()


def values(text: bytes) -> dict[str, float]:
    return {
        sample.name + sample.labels.get("le", ""): sample.value
        for family in text_string_to_metric_families(text.decode())
        for sample in family.samples
    }


def test_counters_and_histograms_are_summed_and_gauges_by_their_rule():
    assert values(merge([page(2), page(5)])) == {
        "inferflow_requests_total": 7,
        "inferflow_plan_problems": 5,
        "inferflow_requests_in_flight": 7,
        "process_start_time_seconds": 2,
        "process_resident_memory_bytes": 7,
        "t_bucket1.0": 7,
        "t_bucket+Inf": 7,
        "t_count": 7,
        "t_sum": 7,
    }


def test_a_process_that_ended_goes_on_counting_but_takes_no_memory():
    merged = values(merge([page(2)], ended=[page(5)]))
    assert merged["inferflow_requests_total"] == merged["t_count"] == 7
    assert merged["process_resident_memory_bytes"] == merged["inferflow_requests_in_flight"] == 2


def test_ended_processes_fold_into_one_page():
    folded = merge([], ended=[page(1), page(2)])
    assert values(merge([page(4)], ended=[folded])) == values(
        merge([page(4)], ended=[page(1), page(2)])
    )


def test_one_page_stays_what_it_is():
    tally = Tally()
    tally.plan_live('odd "name"\\with\nbreak', "v1")
    tally.call_ended("/m", 0, 0.2)
    own = Exposition(tally, with_process=False).render()
    assert values(merge([own])) == values(own)
    assert b'odd \\"name\\"\\\\with\\nbreak' in merge([own])


def test_no_process_is_an_empty_page():
    assert merge([]) == b""


@settings(deadline=None)
@given(st.lists(st.lists(st.floats(1e-6, 20), max_size=5), max_size=4))
def test_merged_pages_say_what_one_process_would_have_said(processes):
    whole, pages = Tally(), []
    for times in processes:
        tally = Tally()
        for seconds in times:
            tally.call_ended("/m", 0, seconds)
            whole.call_ended("/m", 0, seconds)
        pages.append(Exposition(tally, with_process=False).render())
    merged = values(merge(pages)) if pages else {}
    alone = values(Exposition(whole, with_process=False).render())
    for name, value in alone.items():
        if pages:
            assert abs(merged[name] - value) < 1e-9 * max(1, value)
