"""What a compute service counts, shows and sends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from inferflow.telemetry import compute_table
from inferflow.telemetry.compute_statsd import ComputeStatsd
from inferflow.telemetry.compute_tally import ComputeTally


@dataclass
class Call:
    compute_id: str = "blend"
    caller: str = "shop"
    outcome: str = "ok"
    operations: tuple[str, ...] = ()
    rows: int = 10
    duration_s: float = 0.002


class Sent(list[tuple[str, str, float, tuple[str, ...]]]):
    """Stands where the library would send packets."""

    def increment(self, name: str, count: int, tags: list[str]) -> None:
        self.append((name, "count", count, tuple(tags)))

    def _report(
        self, name: str, kind: str, value: float, tags: list[str], *_: Any, **__: Any
    ) -> None:
        self.append((name, kind, value, tuple(tags)))

    def flush(self) -> None: ...

    def close_socket(self) -> None: ...


def shown(tally: ComputeTally) -> str:
    return tally.render().decode()


def test_calls_are_counted_by_expression_caller_and_outcome() -> None:
    tally = ComputeTally(with_process=False)
    for call in (Call(), Call(), Call(outcome="error"), Call(caller="app")):
        tally.call_ended(call)
    page = shown(tally)
    for caller, outcome, count in (("shop", "ok", 2), ("shop", "error", 1), ("app", "ok", 1)):
        labels = f'{{caller="{caller}",compute_id="blend",outcome="{outcome}"}}'
        assert f"inferflow_compute_requests_total{labels} {count}.0" in page
    assert 'inferflow_compute_request_rows_sum{compute_id="blend"} 40.0' in page


def test_operations_without_an_answer_are_counted_by_the_names_dashboards_know() -> None:
    tally = ComputeTally(with_process=False)
    tally.call_ended(Call(outcome="error", operations=("division", "sqrt")))
    for kind in ("division_by_zero", "sqrt"):
        labels = f'{{compute_id="blend",error_type="{kind}"}}'
        assert f"inferflow_compute_invalid_operations_total{labels} 1.0" in shown(tally)


def test_callers_beyond_all_bounds_share_a_series() -> None:
    tally = ComputeTally(with_process=False)
    for number in range(1_200):
        tally.call_ended(Call(caller=str(number)))
    page = shown(tally)
    assert page.count("inferflow_compute_requests_total{") <= 1_001
    assert 'caller="other",compute_id="other",outcome="ok"} 200.0' in page


def test_everything_documented_is_shown() -> None:
    tally = ComputeTally(with_process=False)
    tally.watch(compute_table.EXPRESSIONS, lambda: 3)
    tally.watch(compute_table.PROBLEMS, lambda: 1)
    tally.call_ended(Call(outcome="error", operations=("log",)))
    page = shown(tally)
    for metric in compute_table.COMPUTE_METRICS:
        assert f"# TYPE {metric.name.removesuffix('_total')}" in page, metric.name


def test_the_names_of_the_original_are_sent_with_exact_counts() -> None:
    sent = Sent()
    statsd = ComputeStatsd(sent, sampling_rate=0.5, chance=iter([0.1, 0.9, 0.1]).__next__)  # type: ignore[arg-type]
    tally = ComputeTally(statsd, with_process=False)
    for call in (Call(), Call(), Call(outcome="error", operations=("division",))):
        tally.call_ended(call)
    statsd.flush()
    tags = ("compute_id:blend", "caller:shop")
    name = "numerix.computation.request."
    assert [each for each in sent if each[1] == "count"] == [
        (f"{name}total", "count", 3, tags),
        (f"{name}error", "count", 1, tags),
        (f"{name}invalid_operation", "count", 1, (*tags, "error_type:division_by_zero")),
    ]
    assert [each for each in sent if each[1] == "ms"] == [(f"{name}latency", "ms", 2.0, tags)] * 2
    assert {each[0] for each in sent} == set(compute_table.COMPUTE_STATSD)
