"""The reference page says what the code does."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferflow.errors import InvalidInput
from inferflow.telemetry.reference import page
from inferflow.telemetry.statsd_table import STATSD
from inferflow.telemetry.table import METRICS

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"


def test_the_page_is_up_to_date():
    written = PAGE.read_text(encoding="utf-8")
    assert written == page(written), (
        "run: python -m inferflow.telemetry.reference docs/reference/metrics.md"
    )


def test_the_page_names_every_metric():
    written = PAGE.read_text(encoding="utf-8")
    names = [*(metric.name for metric in METRICS), *STATSD]
    assert [name for name in names if f"`{name}`" not in written] == []


def test_a_page_without_a_place_for_the_tables_is_refused():
    with pytest.raises(InvalidInput, match="no place"):
        page("# Metrics")
