"""The inference log as the settings say where it is, read back page by page."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from inferflow.api.gateway.management.ports import LogQuery
from inferflow.app.inference_log import OFF, log_source, sink_kind
from inferflow.app.settings import Settings
from inferflow.inferlog.browsing import Cursor, Record, Wanted, file_page, topic_page
from inferflow.inferlog.folder import LogFolder

Facts = dict[str, Any]


class ProjectLogs:
    """Implements `api.gateway.management.ports.Logs`."""

    def __init__(self, root: Path, settings: Settings) -> None:
        self._root = root
        self._settings = settings
        self._sink = sink_kind(settings)

    async def page(self, query: LogQuery) -> Facts:
        return await asyncio.to_thread(self._page, query)

    async def stats(self) -> Facts:
        return await asyncio.to_thread(self._stats)

    def _page(self, query: LogQuery) -> Facts:
        cursor = Cursor.read(query.cursor)
        if self._sink == OFF:
            return {"sink": OFF, "records": [], "next": None}
        wanted = Wanted(
            query.config_id, query.tracking_id, query.user, query.since_ms * 1000, query.limit
        )
        source, rest = log_source(self._root, self._settings), None
        if isinstance(source, LogFolder):
            found, rest = file_page(source, wanted, cursor)
        else:
            found = topic_page(source, wanted)
        return {
            "sink": self._sink,
            "records": [_told(each) for each in found],
            "next": None if rest is None else str(rest),
        }

    def _stats(self) -> Facts:
        unreadable: list[str] = []
        if self._sink == OFF:
            return {"configs": [], "unreadable": unreadable}
        source = log_source(self._root, self._settings)
        if isinstance(source, LogFolder):
            found = source.stats(unreadable=unreadable)
        else:
            found = source.stats()
        return {"configs": [each.to_dict() for each in found], "unreadable": unreadable}


def _told(record: Record) -> Facts:
    return {
        "at_ms": record.at_us // 1000,
        "model_config_id": record.config_id,
        "config_version": record.config_version,
        "tracking_id": record.tracking_id,
        "user": record.user,
        "kind": record.kind,
        "rows": record.rows,
    }
