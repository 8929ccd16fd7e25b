"""A real etcd, or two."""

from __future__ import annotations

from ...servers.etcd import etcd, fragile_etcd  # noqa: F401
