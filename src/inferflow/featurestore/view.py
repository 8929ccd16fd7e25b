"""One layout seen through one query: which stored elements become which result columns.

Compiled once per layout version and query. When the wanted features lie side by side, in the
wanted order and type, a result is a view into the joined rows; otherwise stored elements are
gathered per run and converted by the cast table: stored type, declared type, wanted type.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inferflow.dtypes import Array, DType, cast
from inferflow.errors import CastFailed
from inferflow.featurestore.layout import Layout, row_dtype
from inferflow.featurestore.rowcodec import Columns, elements, given_of
from inferflow.plan.catalog import FeatureInfo


@dataclass(frozen=True, slots=True, eq=False)
class Wanted:
    """One feature of a query."""

    declared: FeatureInfo
    columns: slice
    """Where it goes in the result of its run."""
    default: Array
    """[1, width], in the wanted type."""


@dataclass(frozen=True, slots=True, eq=False)
class WantedRun:
    """Features that come back side by side in one array."""

    dtype: DType
    """Element type wanted."""
    features: tuple[Wanted, ...]
    blank: Array
    """[1, width]: every feature's default."""


@dataclass(frozen=True, slots=True, eq=False)
class _Piece:
    """Elements of one stored run on their way to result columns."""

    run: int
    source: Columns
    target: Columns
    steps: tuple[DType, ...]
    """Element types to go through, the stored one first."""
    features: tuple[Wanted, ...]


class LayoutView:
    """Takes the results of one query out of rows of one layout."""

    def __init__(self, layout: Layout, runs: tuple[WantedRun, ...]) -> None:
        self.layout = layout
        self._runs = runs
        self._pieces = [_pieces(layout, run) for run in runs]
        held = {wanted for pieces in self._pieces for piece in pieces for wanted in piece.features}
        every = [wanted for run in runs for wanted in run.features]
        self._lacking = tuple(each.declared.name for each in every if each not in held)
        bits = {feature.name: bit for bit, feature in enumerate(layout.features)}
        self._bits = {
            each.declared.name: bits[each.declared.name] for each in every if each in held
        }
        # For each result column the bit of its feature; one bit more stands for those lacking.
        self._column_bits = [
            np.repeat(
                [self._bits.get(each.declared.name, len(bits)) for each in run.features],
                [each.declared.dim for each in run.features],
            )
            for run in runs
        ]
        fields = [self._field(number) for number in range(len(runs))]
        extra = {f"q{n}": field for n, field in enumerate(fields) if field is not None}
        # Per result the field of the joined rows that is it already, if there is one.
        self._ready = [(n, f"q{n}" if f"q{n}" in extra else None) for n in range(len(runs))]
        self.dtype = row_dtype({**layout.fields, **extra}, layout.size)

    def _field(self, number: int) -> tuple[Any, int] | None:
        """The field of the joined rows that is this result already, if there is one."""
        piece = self._whole(number)
        if piece is None or len(piece.steps) > 1 or not isinstance(piece.source, slice):
            return None
        stored = self.layout.runs[piece.run]
        if stored.element.is_text or stored.element.is_bool:
            return None
        offset = self.layout.fields[f"run{piece.run}"][1]
        width = piece.source.stop - piece.source.start
        start = offset + piece.source.start * stored.stored.itemsize
        return (stored.stored, (width,)), start

    def _whole(self, number: int) -> _Piece | None:
        """The piece that fills a result alone."""
        pieces = self._pieces[number]
        alone = len(pieces) == 1 and pieces[0].features == self._runs[number].features
        return pieces[0] if alone else None

    def results(self, table: Array, rows: Sequence[bytes]) -> tuple[Array, ...]:
        """One [rows, width] array per wanted run, for rows that were given everything.

        Features the layout does not have hold their defaults. Raises CastFailed when a value
        has no form in the type wanted.
        """
        return tuple(
            [
                table[name] if name is not None else self._gathered(number, table, rows)
                for number, name in self._ready
            ]
        )

    def _gathered(self, number: int, table: Array, rows: Sequence[bytes]) -> Array:
        whole = self._whole(number)
        if whole is not None:
            return _through(self._stored(whole.run, whole.source, table, rows), whole.steps)
        out = self._runs[number].blank.repeat(len(rows), axis=0)
        for piece in self._pieces[number]:
            stored = self._stored(piece.run, piece.source, table, rows)
            out[:, piece.target] = _through(stored, piece.steps)
        return out

    def _stored(self, run: int, source: Columns, table: Array, rows: Sequence[bytes]) -> Array:
        return elements(self.layout, run, source, table, rows)

    # --- rows that are not the plain case ---------------------------------------------------

    def marked_results(
        self, table: Array, rows: Sequence[bytes]
    ) -> tuple[list[Array], dict[str, Array]]:
        """As `results` for any rows, and per feature a mask of the rows that have no value for it.

        That is so when the layout lacks the feature, when the row was never given it, and when
        the stored value has no form in the type wanted. All of these hold the default. A feature
        wanted in two types is marked when either lacks a value.
        """
        absent = {name: np.ones(len(rows), np.bool_) for name in self._lacking}
        try:
            outs = list(self.results(table, rows))
        except CastFailed:
            outs = [
                self._one_by_one(number, table, rows, absent) for number in range(len(self._runs))
            ]
        gone = np.zeros((len(rows), len(self.layout.features) + 1), np.bool_)
        gone[:, :-1] = ~given_of(self.layout, table)
        is_gone = np.asarray(gone.any(axis=0))
        if is_gone.any():
            for number, (run, bits) in enumerate(zip(self._runs, self._column_bits, strict=True)):
                outs[number] = np.where(gone[:, bits], run.blank, outs[number])
            for name, bit in self._bits.items():
                if is_gone[bit]:
                    absent[name] = absent.get(name, gone[:, bit]) | gone[:, bit]
        return outs, absent

    def _one_by_one(
        self, number: int, table: Array, rows: Sequence[bytes], absent: dict[str, Array]
    ) -> Array:
        out = self._runs[number].blank.repeat(len(rows), axis=0)
        for piece in self._pieces[number]:
            for wanted in piece.features:
                place = self.layout.places[wanted.declared.name]
                stored = self._stored(place.run, slice(place.start, place.stop), table, rows)
                gone = np.ones(len(rows), np.bool_)
                for at, values in _convertible(stored, piece.steps, np.arange(len(rows))):
                    out[at, wanted.columns] = values
                    gone[at] = False
                name = wanted.declared.name
                absent[name] = absent.get(name, gone) | gone
        return out


def _convertible(
    stored: Array, steps: tuple[DType, ...], at: Array
) -> Iterator[tuple[Array, Array]]:
    """Row numbers with their converted values, in batches; rows without an answer are left out."""
    try:
        yield at, _through(stored[at], steps)
    except CastFailed:
        if len(at) > 1:
            for half in np.array_split(at, 2):
                yield from _convertible(stored, steps, half)


def _through(values: Array, steps: tuple[DType, ...]) -> Array:
    for source, target in itertools.pairwise(steps):
        values = cast(values, source.vector, target.vector)
    return values


def _pieces(layout: Layout, run: WantedRun) -> list[_Piece]:
    """The wanted features this layout has, those of one stored run and conversion together."""
    stored = {feature.name: feature for feature in layout.features}
    together: dict[tuple[int, tuple[DType, ...]], list[Wanted]] = {}
    for wanted in run.features:
        declared = wanted.declared
        found = stored.get(declared.name)
        shape = (declared.dtype.is_vector, declared.dim)
        if found is None or (found.dtype.is_vector, found.dim) != shape:
            continue
        types = (found.dtype.element, declared.dtype.element, run.dtype)
        steps = tuple(dtype for dtype, _ in itertools.groupby(types))
        together.setdefault((layout.places[declared.name].run, steps), []).append(wanted)
    return [
        _Piece(
            number,
            _span(
                [(layout.places[each.declared.name].start, each.declared.dim) for each in members]
            ),
            _span([(each.columns.start, each.declared.dim) for each in members]),
            steps,
            tuple(members),
        )
        for (number, steps), members in together.items()
    ]


def _span(parts: Sequence[tuple[int, int]]) -> Columns:
    """Elements given as (start, length), as a slice when they lie side by side."""
    columns = [at for start, length in parts for at in range(start, start + length)]
    if columns == list(range(columns[0], columns[0] + len(columns))):
        return slice(columns[0], columns[0] + len(columns))
    return np.array(columns, np.intp)
