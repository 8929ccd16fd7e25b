"""Faults that take their time: `make robustness` runs them, `make test` does not."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..servers.etcd import etcd, fragile_etcd  # noqa: F401

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.robustness)
