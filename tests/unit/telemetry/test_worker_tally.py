"""What a worker counts, and how it shows."""

from __future__ import annotations

from prometheus_client.parser import text_string_to_metric_families

from inferflow.telemetry.worker_table import WORKER_METRICS
from inferflow.telemetry.worker_tally import OTHER, WorkerTally


def filled() -> WorkerTally:
    tally = WorkerTally(with_process=False)
    tally.request_ended("m", "1", "ok", 3, 0.01, "k")
    tally.request_ended("m", "1", "late", 0, 1.0, "")
    tally.request_ended("", "", "absent", 0, 0.0001, "")
    tally.batch_ran("m", "1", 2, 5, "delay", 0.003)
    tally.queue_left("m", "1", 0.002)
    tally.loaded("m", "1", 0.5)
    tally.load_failed("n", "1")
    tally.unloaded("m", "1", "idle")
    for metric in WORKER_METRICS:
        if metric.kind == "gauge":
            labels = tuple(f"{name}!" for name in metric.labels)
            tally.watch(metric, lambda labels=labels: [(labels, 7.0)])  # type: ignore[misc]
    return tally


def samples(tally: WorkerTally) -> dict[tuple[str, tuple[str, ...]], float]:
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(tally.render().decode())
        for sample in family.samples
    }


def test_every_metric_of_the_table_is_shown_with_its_labels() -> None:
    families = {
        family.name: family for family in text_string_to_metric_families(filled().render().decode())
    }
    for metric in WORKER_METRICS:
        family = families[metric.name.removesuffix("_total")]
        assert family.type == metric.kind
        labels = {name for sample in family.samples for name in sample.labels} - {"le"}
        assert labels == set(metric.labels), metric.name


def test_requests_runs_and_loads_are_counted_per_version() -> None:
    shown = samples(filled())
    assert shown["inferflow_worker_requests_total", ("m", "ok", "1")] == 1
    assert shown["inferflow_worker_requests_total", ("m", "late", "1")] == 1
    assert shown["inferflow_worker_requests_total", (OTHER, "absent", "")] == 1
    assert shown["inferflow_worker_key_requests_total", ("k", "m", "ok")] == 1
    assert shown["inferflow_worker_batches_total", ("m", "delay", "1")] == 1
    assert shown["inferflow_worker_batch_rows_sum", ("m", "1")] == 5
    assert shown["inferflow_worker_batch_requests_sum", ("m", "1")] == 2
    assert shown["inferflow_worker_model_loads_total", ("n", "failed", "1")] == 1
    assert shown["inferflow_worker_model_unloads_total", ("m", "1", "idle")] == 1
    assert shown["inferflow_worker_model_load_seconds_count", ("m", "1")] == 1


def test_what_anybody_may_make_up_takes_a_bounded_number_of_places() -> None:
    tally = WorkerTally(with_process=False)
    for number in range(3000):
        tally.request_ended(f"m{number}", "1", "ok", 1, 0.01, f"k{number}")
    shown = samples(tally)
    total = {name: value for name, value in shown.items() if name[0].endswith("requests_total")}
    assert sum(value for (name, _), value in total.items() if "key" not in name) == 3000
    assert len(total) < 2100
    assert shown["inferflow_worker_requests_total", (OTHER, "ok", OTHER)] == 2000
