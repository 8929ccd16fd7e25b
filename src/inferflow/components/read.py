"""Asks the store for keys: in batches, and believing no reply that does not line up.

A batch that fails loses its own keys and no others.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from inferflow.components.timed import timed
from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import (
    Array,
    FeatureRows,
    GroupRows,
    KeyColumns,
    PreparedRead,
    ReadState,
)
from inferflow.engine.recording import StepRecord
from inferflow.errors import DeadlinePassed, StoreFailed
from inferflow.plan.plan import FeatureStep

_FAILED = int(ReadState.FAILED)  # arrays compare quicker with a plain number


class BatchedRead:
    __slots__ = ("_own", "_step")

    def __init__(self, own: PreparedRead, step: FeatureStep) -> None:
        self._own = own
        self._step = step

    async def fetch(
        self, keys: KeyColumns, *, deadline: Deadline, record: StepRecord | None = None
    ) -> FeatureRows:
        """All keys or, when some batches fail, the rest of them; raises when every batch does.
        Each batch is noted in the record, when there is one."""
        count, size = len(keys[0]), self._step.batch_size
        if not size or count <= size:
            answer = await timed(self._own.fetch(keys, deadline=deadline), record)
            return _lined_up(answer, count)
        parts: list[FeatureRows] = []
        causes: list[StoreFailed | DeadlinePassed] = []
        for start in range(0, count, size):
            batch = tuple(column[start : start + size] for column in keys)
            asked = len(batch[0])
            try:
                parts.append(await timed(self._ask(batch, deadline), record))
            except (StoreFailed, DeadlinePassed) as broken:
                if self._step.on_error == "fail":
                    raise
                causes.append(broken)
                parts.append(self._failed(asked))
        if len(causes) == len(parts):
            raise causes[0]
        rows = _joined(parts)
        if causes:
            rows.failure = "; ".join(dict.fromkeys(map(str, causes)))
        return rows

    async def _ask(self, keys: KeyColumns, deadline: Deadline) -> FeatureRows:
        return _lined_up(await self._own.fetch(keys, deadline=deadline), len(keys[0]))

    def _failed(self, count: int) -> FeatureRows:
        states = np.full(count, ReadState.FAILED, np.uint8)
        return FeatureRows(
            tuple(
                GroupRows(tuple(np.tile(row, (count, 1)) for row in rows), states)
                for rows in self._step.defaults
            )
        )


def failed_keys(rows: FeatureRows) -> Array | None:
    """Mask of keys the store could not be asked for; None when there are none."""
    failed: Array | None = None
    for group in rows.groups:
        if group.states is not None:
            mask = group.states == _FAILED
            if np.count_nonzero(mask):
                failed = mask if failed is None else failed | mask
    return failed


def _lined_up(rows: FeatureRows, count: int) -> FeatureRows:
    for group in rows.groups:
        for run in group.runs:
            if len(run) != count:
                raise StoreFailed(f"the store answered {len(run)} row(s) for {count} key(s)")
    return rows


def _joined(parts: Sequence[FeatureRows]) -> FeatureRows:
    """Batches put back together in key order."""
    groups = []
    for same in zip(*(part.groups for part in parts), strict=True):
        counts = [len(group.runs[0]) for group in same]
        groups.append(
            GroupRows(
                runs=tuple(
                    np.concatenate(runs) for runs in zip(*(g.runs for g in same), strict=True)
                ),
                states=_concatenated([group.states for group in same], counts, np.uint8),
                absent={
                    label: _filled([g.absent.get(label) for g in same], counts, np.bool_)
                    for label in {label for group in same for label in group.absent}
                },
                written_ms=_concatenated([group.written_ms for group in same], counts, np.int64),
            )
        )
    return FeatureRows(tuple(groups))


def _concatenated(parts: list[Array | None], counts: list[int], kind: type) -> Array | None:
    return None if all(part is None for part in parts) else _filled(parts, counts, kind)


def _filled(parts: list[Array | None], counts: list[int], kind: type) -> Array:
    return np.concatenate(
        [np.zeros(n, kind) if part is None else part for part, n in zip(parts, counts, strict=True)]
    )
