"""Adds up what several processes of one server show, so that one page tells of all.

Counters and histograms are summed; a gauge is summed or not as the table says. A counter must
never fall when a process ends, or every rate drawn from it would jump: the last page of an ended
process goes on counting, its gauges do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from inferflow.errors import MissingExtra
from inferflow.telemetry.door_table import DOOR_METRICS
from inferflow.telemetry.table import METRICS, PROCESS_MERGE, Merge

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric as Family

_RULES: dict[str, Merge] = {
    **{metric.name: metric.merge for metric in (*METRICS, *DOOR_METRICS) if metric.kind == "gauge"},
    **PROCESS_MERGE,
}

Series = tuple[str, tuple[tuple[str, str], ...]]


def merge(running: Iterable[bytes], ended: Iterable[bytes] = ()) -> bytes:
    """One page of the pages of running processes and the last pages of those that ended.

    `merge([], ended)` folds ended ones into a single page to keep.
    """
    try:
        from prometheus_client import generate_latest
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what="the metrics page") from missing
    whole = _Whole()
    for page in running:
        whole.add(page, with_gauges=True)
    for page in ended:
        whole.add(page, with_gauges=False)
    return generate_latest(whole)


class _Whole:
    """Families by name, and in each the values of its series."""

    def __init__(self) -> None:
        self._families: dict[str, Family] = {}
        self._values: dict[str, dict[Series, float]] = {}

    def add(self, page: bytes, *, with_gauges: bool) -> None:
        from prometheus_client.parser import text_string_to_metric_families

        for family in text_string_to_metric_families(page.decode()):
            is_gauge = family.type not in ("counter", "histogram", "summary")
            if is_gauge and not with_gauges:
                continue
            self._families.setdefault(family.name, family)
            values = self._values.setdefault(family.name, {})
            rule = _RULES.get(family.name, "sum") if is_gauge else "sum"
            for sample in family.samples:
                key = (sample.name, tuple(sample.labels.items()))
                values[key] = _joined(rule, values.get(key), sample.value)

    def collect(self) -> Iterator[Family]:
        from prometheus_client.core import Metric as Family

        for name, first in self._families.items():
            family = Family(name, first.documentation, first.type)
            for (sample, labels), value in self._values[name].items():
                family.add_sample(sample, dict(labels), value)
            yield family


def _joined(rule: Merge, known: float | None, value: float) -> float:
    if known is None:
        return value
    if rule == "sum":
        return known + value
    return max(known, value) if rule == "max" else min(known, value)
