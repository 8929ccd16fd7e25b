"""An answer as rows of features, each where its key and its label say it belongs.

Nothing is taken on trust: a row is matched by the key it repeats, a column by the label it is
announced under, a value by its length. What is wrong costs its own keys and no others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from inferflow._proto.coarse import RetrieveResult
from inferflow.client.features.cells import Cells, cells_of, places_of
from inferflow.client.features.expected import ExpectedGroup, ExpectedRun, Member
from inferflow.client.features.layout import Layout, read_layout
from inferflow.client.features.presence import Presence, marked
from inferflow.dtypes import Array, cast, decode
from inferflow.engine.ports import FeatureRows, GroupRows, ReadState
from inferflow.errors import CastFailed, StoreFailed

_FAILED = int(ReadState.FAILED)


class AnswerReader:
    """Reads the answers to one query."""

    def __init__(self, address: str, groups: Sequence[ExpectedGroup]) -> None:
        self._address = address
        self._groups = groups
        self._layout: Layout | None = None

    def read(self, body: bytes, keys: Sequence[bytes]) -> FeatureRows:
        """Raises StoreFailed for what cannot be understood. A key without a row, or with a value
        that cannot be one, is FAILED."""
        try:
            return self._read(RetrieveResult.FromString(body), keys)
        except DecodeError:
            raise self._failed("bytes that are no retrieve.Result message") from None

    def _read(self, result: Any, keys: Sequence[bytes]) -> FeatureRows:
        rows = result.rows
        layout = self._announced(tuple(result.feature_schemas))
        places = places_of(rows, keys)
        presence = None
        if result.presence:
            presence = Presence(result.presence, layout, len(rows), places, self._failed)
        reading = _Reading(layout, cells_of(rows, keys, in_place=places is None), places, len(keys))
        groups = [reading.group(group) for group in self._groups]
        why = f"{self._address} answered {'; '.join(reading.wrong)}" if reading.wrong else ""
        return FeatureRows(marked(presence, groups, self._groups), why)

    def _announced(self, announced: tuple[bytes, ...]) -> Layout:
        layout = self._layout
        if layout is not None and announced == layout.announced:
            return layout
        layout = read_layout(announced)
        for group in self._groups:
            for member in (member for run in group.runs for member in run.members):
                if (group.label, member.label) not in layout.columns:
                    raise self._failed(f"without the column '{group.label}:{member.label}'")
        if sorted(layout.columns.values()) != list(range(len(layout.columns))):
            raise self._failed("columns that are not numbered from 0 on")
        self._layout = layout
        return layout

    def _failed(self, what: str) -> StoreFailed:
        return StoreFailed(f"the feature store at {self._address} answered {what}")


class _Reading:
    """One answer on its way into arrays."""

    def __init__(self, layout: Layout, cells: Cells, places: Array | None, count: int) -> None:
        self._layout = layout
        self._cells = cells
        self._places = places
        self._count = count
        self._lost = np.zeros(count, np.bool_) if places is None else places < 0
        self.wrong: list[str] = []
        if self._lost.any():
            self.wrong.append(f"nothing for {np.count_nonzero(self._lost)} of {count} key(s)")

    def group(self, group: ExpectedGroup) -> GroupRows:
        failed = self._lost.copy()
        runs = [self._run(group.label, run, failed) for run in group.runs]
        if not failed.any():
            return GroupRows(tuple(runs))
        # A row with a value that is wrong is not believed in the rest of its group either.
        return GroupRows(
            tuple(
                np.where(failed[:, np.newaxis], expected.defaults, run)
                for run, expected in zip(runs, group.runs, strict=True)
            ),
            np.where(failed, _FAILED, 0).astype(np.uint8),
        )

    def _run(self, group: str, run: ExpectedRun, failed: Array) -> Array:
        if len(run.members) == 1:
            return self._values(group, run.members[0], run, failed)
        out = np.empty((self._count, run.defaults.shape[1]), run.dtype.numpy)
        for member in run.members:
            out[:, member.columns] = self._values(group, member, run, failed)
        return out

    def _values(self, group: str, member: Member, run: ExpectedRun, failed: Array) -> Array:
        """One feature in the type wanted, in the order of the keys."""
        at = self._layout.columns[group, member.label]
        found = self._cells.column(at, member)
        if found is not None:
            try:
                values = cast(found, member.dtype.vector, run.dtype.vector)
            except CastFailed:
                pass  # a text that is no number: found below
            else:
                return values if self._places is None else values[self._places]
        return self._one_by_one(f"{group}:{member.label}", at, member, run, failed)

    def _one_by_one(
        self, name: str, at: int, member: Member, run: ExpectedRun, failed: Array
    ) -> Array:
        """The same where some values are not what they should be; the first of them is told."""
        out = np.repeat(run.defaults[:, member.columns], self._count, axis=0)
        wrong = ""
        for key in range(self._count):
            row = key if self._places is None else int(self._places[key])
            if row < 0:
                continue
            try:
                out[key] = self._one(row, at, member, run)
            except CastFailed as refused:
                failed[key] = True
                wrong = wrong or f"column {name!r}: {refused.what}"
        self.wrong.append(wrong)
        return out

    def _one(self, row: int, at: int, member: Member, run: ExpectedRun) -> Array:
        part = self._cells.value(row, at)
        if part is None:
            raise CastFailed("no value")
        found = decode([part], member.dtype, member.width).reshape(1, member.width)
        one: Array = cast(found, member.dtype.vector, run.dtype.vector)[0]
        return one
