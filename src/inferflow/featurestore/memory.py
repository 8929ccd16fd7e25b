"""Rows in this process's memory: for tests, for trying things out, for data that is reloaded."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

from inferflow.featurestore.backend import Change, Rows


class MemoryBackend:
    """A dict behind a lock, so that nobody sees half a batch."""

    def __init__(self) -> None:
        self._rows: dict[bytes, bytes] = {}
        self._lock = threading.RLock()

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        with self._lock:
            return list(map(self._rows.get, keys))

    def replace(self, keys: Sequence[bytes], rows: Rows) -> None:
        with self._lock:
            for key, row in zip(keys, rows, strict=True):
                if row is None:
                    self._rows.pop(key, None)
                else:
                    self._rows[key] = row

    def update(self, keys: Sequence[bytes], change: Change) -> None:
        with self._lock:
            self.replace(keys, change(self.get_many(keys)))

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        with self._lock:
            found = [item for item in self._rows.items() if item[0].startswith(prefix)]
        return iter(sorted(found))

    def close(self) -> None:
        """Nothing is kept open."""
