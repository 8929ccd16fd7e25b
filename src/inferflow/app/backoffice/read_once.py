"""Features as they were when first asked for, for several runs of one request.

Whoever compares two runs wants to see what was changed on purpose, and not what somebody wrote in
between. Keys that only a later run asks for are read then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from inferflow.components.feature_rows import joined, only
from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import FeatureReader, FeatureRows, KeyColumns, PreparedRead
from inferflow.plan.query import FeatureRead

Key = tuple[str, ...]


@dataclass(slots=True)
class _Kept:
    """What one read has found so far."""

    rows: FeatureRows = field(default_factory=lambda: FeatureRows(()))
    at: dict[Key, int] = field(default_factory=dict)
    count: int = 0

    def add(self, keys: Sequence[Key], found: FeatureRows) -> None:
        """What was there first stays."""
        for number, key in enumerate(keys, self.count):
            self.at.setdefault(key, number)
        self.rows = joined([self.rows, found]) if self.count else found
        self.count += len(keys)


class OnceReader:
    """Implements `engine.ports.FeatureReader`. Lives as long as one comparison."""

    def __init__(self, reader: FeatureReader) -> None:
        self._reader = reader
        self._kept: dict[FeatureRead, _Kept] = {}
        self.is_local = reader.is_local

    def prepare(self, read: FeatureRead) -> PreparedRead:
        return _OnceRead(self._reader.prepare(read), self._kept.setdefault(read, _Kept()))


class _OnceRead:
    def __init__(self, prepared: PreparedRead, kept: _Kept) -> None:
        self._prepared = prepared
        self._kept = kept

    async def fetch(self, keys: KeyColumns, *, deadline: Deadline) -> FeatureRows:
        kept, wanted = self._kept, list(zip(*keys, strict=True))
        unknown = [key for key in wanted if key not in kept.at]
        if unknown:
            columns = tuple(map(list, zip(*unknown, strict=True)))
            kept.add(unknown, await self._prepared.fetch(columns, deadline=deadline))
        return only(kept.rows, np.array([kept.at[key] for key in wanted]))
