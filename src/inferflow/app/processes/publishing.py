"""The parent's side of a snapshot: taken from what serves in it, written for its children."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from inferflow.app.livebook import Book
from inferflow.app.pinned import pins_of
from inferflow.app.processes.snapshot import Accepted, Snapshot, write_head
from inferflow.configstore import Served
from inferflow.engine.scorer import Scorer
from inferflow.plan.schema import ServiceDoc


def snapshot_of(served: Mapping[str, Served], book: Book, service: Mapping[str, Any]) -> Snapshot:
    """What serves now, last good versions included, and what is refused altogether."""
    return Snapshot(
        {
            config_id: _accepted(record, book.live.get(config_id))
            for config_id, record in served.items()
        },
        {
            config_id: result.errors
            for config_id, result in book.status.items()
            if config_id not in book.ids
        },
        service,
    )


def _accepted(record: Served, scorer: Scorer | None) -> Accepted:
    if scorer is None:
        return Accepted(record)
    return Accepted(record, pins_of(scorer.plan), scorer.plan.digest)


class Publisher:
    """Writes the newest snapshot it was given; tried again, when that failed, by `flush`."""

    def __init__(self, home: Path, service: Callable[[], ServiceDoc] = ServiceDoc) -> None:
        """`service` says how log messages are written."""
        self._home = home
        self._service = service
        self._turn = threading.Lock()
        self._newest: Snapshot | None = None
        self.version = ""
        """Of the snapshot that is written."""

    def take(self, served: Mapping[str, Served], book: Book) -> None:
        """Note what serves now. To be called in the order in which it came to serve."""
        self._newest = snapshot_of(served, book, self._service().model_dump())

    def flush(self) -> bool:
        """Write what is new. False when nothing is. Raises ConfigStoreFailed."""
        with self._turn:
            newest = self._newest
            if newest is None or newest.version == self.version:
                return False
            write_head(self._home, newest)
            self.version = newest.version
            return True
