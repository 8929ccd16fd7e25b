"""Feature schema and expressions of a project that has etcd: what its folder has no file for is
read from there.

Which of the two it is, is decided once, when a project is opened. Who serves follows etcd, and
goes on with what was seen last, or served last, while it is away. Who looks only once asks.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from inferflow.app.config_stores import open_etcd
from inferflow.app.etcd_expressions import open_etcd_expressions, read_expressions
from inferflow.app.expression_files import Written
from inferflow.app.project import (
    EXPRESSIONS_FILE,
    SCHEMA_FILE,
    Finding,
    FolderInputs,
)
from inferflow.app.settings import Settings
from inferflow.configstore import Served, ServedStore
from inferflow.errors import ConfigStoreFailed
from inferflow.plan.problems import Problem
from inferflow.rpc.etcd import Entry, EtcdClient, Mirror


class FollowedInputs:
    """Implements `Inputs` over a mirror that somebody else owns, and expressions of its own."""

    def __init__(
        self, root: Path, settings: Settings, mirror: Mirror, schema: bytes, last: ServedStore
    ) -> None:
        self._folder = FolderInputs(root)
        self._mirror = mirror
        self._schema = None if (root / SCHEMA_FILE).exists() else schema
        self._last = last
        self._served: Mapping[str, Served] = last.read()
        has_file = (root / EXPRESSIONS_FILE).exists()
        self._expressions = None if has_file else open_etcd_expressions(settings)

    def schema(self, findings: list[Finding]) -> str | None:
        if self._schema is None:
            return self._folder.schema(findings)
        seen = self._mirror.seen()
        if seen is None:
            return self._last.newest_text(self._served, "schema")
        return schema_text(seen.entries.get(self._schema), findings)

    def expressions(self, findings: list[Finding]) -> str | None:
        source = self._expressions
        if source is None:
            return self._folder.expressions(findings)
        try:
            return expressions_text(source.read(), source.name, findings)
        except ConfigStoreFailed:  # it has not answered yet
            return self._last.newest_text(self._served, "expressions")

    def close(self) -> None:
        if self._expressions is not None:
            self._expressions.close()


class AskedInputs:
    """Implements `Inputs`: etcd is asked each time."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self._root = root
        self._folder = FolderInputs(root)
        self._app = settings.telemetry.app_name
        self._client: EtcdClient = open_etcd(settings)

    def schema(self, findings: list[Finding]) -> str | None:
        from inferflow.configstore.etcd import Layout

        if (self._root / SCHEMA_FILE).exists():
            return self._folder.schema(findings)
        return schema_text(self._client.get(Layout(self._app).schema), findings)

    def expressions(self, findings: list[Finding]) -> str | None:
        if (self._root / EXPRESSIONS_FILE).exists():
            return self._folder.expressions(findings)
        return expressions_text(*read_expressions(self._client, self._app), findings)

    def close(self) -> None:
        self._client.close()


def schema_text(entry: Entry | None, findings: list[Finding]) -> str | None:
    try:
        return None if entry is None else entry.value.decode("utf-8")
    except UnicodeDecodeError as broken:
        findings.append(Finding(SCHEMA_FILE, Problem("file", f"in etcd, not UTF-8: {broken}")))
        return None


def expressions_text(written: Written, name: str, findings: list[Finding]) -> str | None:
    """The same as a file would say it. What cannot be read is left out, and found."""
    findings += [
        Finding(name, Problem(compute_id, why)) for compute_id, why in written.unreadable.items()
    ]
    sources = dict(sorted(written.sources.items()))
    return json.dumps(sources, indent=1, ensure_ascii=False) if sources else None
