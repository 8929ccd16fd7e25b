"""Faults that take their time: `make robustness` runs them, `make test` does not."""

from __future__ import annotations

from ..servers.etcd import etcd, fragile_etcd  # noqa: F401
