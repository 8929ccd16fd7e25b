"""Turns the stored rows of one group into the answer of one query.

The plain case (rows of the current layout, every feature given, none expired) is one join, one
look at the heads and views into the result. Keys without a row get a prepared row of defaults,
so they take the same way. Everything else is decoded per layout version and put together.

A `DEFAULT` mark means that the row is there and has no value for the feature.
"""

from __future__ import annotations

import typing
from collections.abc import Sequence
from struct import Struct

import numpy as np

from inferflow.dtypes import Array, cast
from inferflow.engine.ports import GroupRows, ReadState
from inferflow.errors import CastFailed, InvalidInput, NotFound, StoreFailed
from inferflow.featurestore.history import History
from inferflow.featurestore.layout import HEADER, HEADER_BYTES, Layout, stored_features
from inferflow.featurestore.rowcodec import FLAG_BITS, NEVER, encode_rows, join_fixed, plain_head
from inferflow.featurestore.values import default_elements, zero_elements
from inferflow.featurestore.view import LayoutView, Wanted, WantedRun
from inferflow.plan.catalog import FeatureInfo, GroupInfo
from inferflow.plan.problems import nearest
from inferflow.plan.query import GroupRead, RunRead

_MISSING = int(ReadState.MISSING)
_HEADER_OF_ONE = Struct("<Qqq")
"""`layout.HEADER` of a single row: head, written, expires."""


class GroupDecoder:
    """Decodes rows of one group for one query."""

    def __init__(
        self, group: GroupInfo, history: History, read: GroupRead, *, may_wait: bool = True
    ) -> None:
        """Unless it `may_wait` for the store, rows of a layout it has never met raise NewLayout."""
        self._find = history.layout if may_wait else history.known_layout
        self._wanted = tuple(_wanted_run(group, run) for run in read.runs)
        self._version = history.version_of(stored_features(group.features.values()))
        self._views: dict[int, LayoutView] = {}
        self._view = self._view_of(self._version)
        self._blank = blank_row(group, self._version, self._view.layout)
        # What the plain case looks at, kept flat because it runs for every request.
        self._head = plain_head(self._version)
        self._head_bytes = np.array(self._head, HEADER["head"]).tobytes()
        self._dtype = self._view.dtype
        self._size = self._view.layout.size
        self._has_tail = self._view.layout.text_run is not None

    def decode(self, rows: Sequence[bytes | None], now_ms: int) -> GroupRows:
        """The answer for these rows, one per key, at least one. The arrays may be read-only."""
        states: Array | None = None
        found = typing.cast("Sequence[bytes]", rows)
        try:
            table = self._plain_table(found, now_ms)
        except TypeError:  # a row that is none: seen for nothing where all of them are there
            states, found = self._with_blanks(rows)
            table = self._plain_table(found, now_ms)
        if table is not None:
            try:
                return GroupRows(self._view.results(table, found), states, {}, table["written"])
            except CastFailed:
                pass  # a stored text that is no number: decoded row by row below
        return self._decode_any(found, states, now_ms)

    def _with_blanks(self, rows: Sequence[bytes | None]) -> tuple[Array, list[bytes]]:
        """The rows with defaults where there is none, and which those are."""
        states, found = np.zeros(len(rows), np.uint8), list(rows)
        for at, row in enumerate(rows):
            if row is None:
                states[at], found[at] = _MISSING, self._blank
        return states, typing.cast("list[bytes]", found)

    def _plain_table(self, rows: Sequence[bytes], now_ms: int) -> Array | None:
        """The rows as one array, if they all are of the current layout, complete and alive.

        The first row of an unexpected length has a head that is not the expected one, so equal
        heads also mean that every row is where it should be.
        """
        size = self._size
        joined = b"".join([row[:size] for row in rows] if self._has_tail else rows)
        if len(joined) != size * len(rows):
            return None
        table = np.frombuffer(joined, self._dtype)
        if len(rows) == 1:  # a user, most likely: looked at without the overhead of arrays
            head, _, expires = _HEADER_OF_ONE.unpack_from(joined)
            return table if head == self._head and expires > now_ms else None
        if table["head"].tobytes() != self._head_bytes * len(rows):
            return None
        return table if np.minimum.reduce(table["expires"]) > now_ms else None

    def _decode_any(self, rows: Sequence[bytes], states: Array | None, now_ms: int) -> GroupRows:
        count = len(rows)
        headers = b"".join([row[:HEADER_BYTES] for row in rows])
        if len(headers) != HEADER_BYTES * count:
            raise StoreFailed("a stored row is shorter than its header; the store is damaged")
        table = np.frombuffer(headers, HEADER)
        expired = table["expires"] <= now_ms
        if expired.any():
            states = np.zeros(count, np.uint8) if states is None else states
            states[expired] = ReadState.EXPIRED
            rows = [self._blank if old else row for old, row in zip(expired, rows, strict=True)]
        versions = np.where(expired, self._version, table["head"] >> FLAG_BITS)
        runs, absent = self._results_by_version(rows, versions)
        if states is not None:  # a row that is not there has nothing that could be absent
            absent = {name: mask & (states == ReadState.REAL) for name, mask in absent.items()}
        absent = {name: mask for name, mask in absent.items() if mask.any()}
        return GroupRows(runs, states, absent, table["written"])

    def _results_by_version(
        self, rows: Sequence[bytes], versions: Array
    ) -> tuple[tuple[Array, ...], dict[str, Array]]:
        """The results of rows of several layouts, and per feature the rows without a value."""
        distinct = np.unique(versions).tolist()
        if len(distinct) == 1:
            results, absent = self._results_of(distinct[0], rows)
            return tuple(results), absent
        count = len(rows)
        runs = tuple(np.empty((count, run.blank.shape[1]), run.dtype.numpy) for run in self._wanted)
        absent = {}
        for version in distinct:
            at = np.flatnonzero(versions == version)
            results, masks = self._results_of(version, [rows[row] for row in at.tolist()])
            for run, result in zip(runs, results, strict=True):
                run[at] = result
            for name, mask in masks.items():
                absent.setdefault(name, np.zeros(count, np.bool_))[at] = mask
        return runs, absent

    def _results_of(
        self, version: int, rows: Sequence[bytes]
    ) -> tuple[list[Array], dict[str, Array]]:
        view = self._view_of(version)
        table = np.frombuffer(join_fixed(view.layout, rows), view.dtype)
        return view.marked_results(table, rows)

    def _view_of(self, version: int) -> LayoutView:
        view = self._views.get(version)
        if view is None:
            view = LayoutView(self._find(version), self._wanted)
            self._views[version] = view
        return view


def blank_row(group: GroupInfo, version: int, layout: Layout) -> bytes:
    """A row that holds every feature's default, was never written and never expires."""
    runs = [
        np.concatenate([default_elements(group.features[each.name]) for each in run.features], 1)
        for run in layout.runs
    ]
    (row,) = encode_rows(layout, version, runs, given=None, written_ms=0, expires_ms=NEVER)
    return row


def whole_group(label: str, layout: Layout) -> GroupRead:
    """The query for everything a layout holds, in the order it holds it."""
    return GroupRead(
        label,
        tuple(
            RunRead(
                run.element,
                tuple(feature.name for feature in run.features),
                tuple(feature.dim for feature in run.features),
            )
            for run in layout.runs
        ),
    )


def _wanted_run(group: GroupInfo, run: RunRead) -> WantedRun:
    wanted: list[Wanted] = []
    start = 0
    for name, width in zip(run.features, run.widths, strict=True):
        declared = group.features.get(name)
        if declared is None:
            raise NotFound(
                f"feature in {group.label!r}", name, nearest=nearest(name, group.features)
            )
        if declared.dim != width:
            raise InvalidInput(f"feature {name!r} has {declared.dim} elements, not {width}")
        columns = slice(start, start + width)
        wanted.append(Wanted(declared, columns, _default(declared, run)))
        start += width
    blank = np.concatenate([each.default for each in wanted], axis=1)
    return WantedRun(run.dtype, tuple(wanted), blank)


def _default(declared: FeatureInfo, run: RunRead) -> Array:
    try:
        return cast(default_elements(declared), declared.dtype.vector, run.dtype.vector)
    except CastFailed as failed:
        if declared.default is None:  # the empty text, which nobody meant to be read as a number
            return zero_elements(run.dtype, declared.dim)
        raise CastFailed(f"the default of feature {declared.name!r}: {failed.what}") from None
