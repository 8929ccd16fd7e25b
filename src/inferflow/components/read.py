"""Asks the store for keys: in batches, and believing no reply that does not line up.

A batch that fails loses its own keys and no others.
"""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial

import numpy as np

from inferflow.components.batching import answers
from inferflow.components.feature_rows import joined
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
from inferflow.errors import InferflowError, StoreFailed
from inferflow.plan.plan import FeatureStep

_FAILED = int(ReadState.FAILED)  # arrays and bytes compare quicker with a plain number


class BatchedRead:
    """`together`: batches are under way at once, for the store is not in this process."""

    __slots__ = ("_own", "_step", "_together")

    def __init__(self, own: PreparedRead, step: FeatureStep, *, together: bool) -> None:
        self._own = own
        self._step = step
        self._together = together

    def fetch(
        self, keys: KeyColumns, *, deadline: Deadline, record: StepRecord | None
    ) -> Awaitable[FeatureRows]:
        """All keys or, when some batches fail, the rest of them; raises when every batch does.
        Each batch is noted in the record, when there is one."""
        count, size = len(keys[0]), self._step.batch_size
        if not size or count <= size:
            return self._ask(keys, deadline, record)
        return self._ask_in_batches(keys, deadline, record)

    async def _ask_in_batches(
        self, keys: KeyColumns, deadline: Deadline, record: StepRecord | None
    ) -> FeatureRows:
        count, size = len(keys[0]), self._step.batch_size
        batches = [
            tuple(column[start : start + size] for column in keys)
            for start in range(0, count, size)
        ]
        found = await answers(
            [partial(self._ask, batch, deadline, record) for batch in batches],
            together=self._together,
            gives_up=lambda: self._step.on_error == "fail",
        )
        causes = [each for each in found if isinstance(each, InferflowError)]
        if len(causes) == len(batches):
            raise causes[0]
        rows = joined(
            [
                self._failed(len(batch[0])) if isinstance(each, InferflowError) else each
                for batch, each in zip(batches, found, strict=True)
            ]
        )
        reasons = dict.fromkeys([rows.failure, *map(str, causes)])
        rows.failure = "; ".join(filter(None, reasons))
        return rows

    async def _ask(
        self, keys: KeyColumns, deadline: Deadline, record: StepRecord | None
    ) -> FeatureRows:
        answer = await timed(self._own.fetch(keys, deadline=deadline), record)
        return _lined_up(answer, len(keys[0]))

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
        # Bytes are searched quicker than an array is compared, and there is hardly ever one.
        if group.states is not None and _FAILED in group.states.tobytes():
            mask = group.states == _FAILED
            failed = mask if failed is None else failed | mask
    return failed


def _lined_up(rows: FeatureRows, count: int) -> FeatureRows:
    for group in rows.groups:
        for run in group.runs:
            if len(run) != count:
                raise StoreFailed(f"the store answered {len(run)} row(s) for {count} key(s)")
    return rows
