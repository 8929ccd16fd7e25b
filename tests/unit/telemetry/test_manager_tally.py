"""A manager's metrics page."""

from __future__ import annotations

from inferflow.telemetry.manager_table import LEADS, MANAGER_METRICS
from inferflow.telemetry.manager_tally import ManagerTally


def test_what_was_counted_and_what_is_watched_is_on_the_page() -> None:
    tally = ManagerTally(with_process=False)
    tally.call_ended("Discover", "ok", 0.001)
    tally.call_ended("Discover", "caller", 0.002)
    tally.keys_used({"k1": 3}, {"k1": 1})
    tally.keys_used({"k1": 2}, {})
    tally.tick_failed()
    tally.watch(LEADS, lambda: [((), 1.0)])
    page = tally.render().decode()
    assert 'inferflow_manager_calls_total{method="Discover",outcome="ok"} 1.0' in page
    assert 'inferflow_manager_call_duration_seconds_count{method="Discover"} 2.0' in page
    assert 'inferflow_fleet_key_requests_total{key="k1"} 5.0' in page
    assert 'inferflow_fleet_key_failures_total{key="k1"} 1.0' in page
    assert "inferflow_manager_failed_ticks_total 1.0" in page
    assert "inferflow_manager_has_duties 1.0" in page


def test_no_name_is_given_twice() -> None:
    assert len({metric.name for metric in MANAGER_METRICS}) == len(MANAGER_METRICS)
