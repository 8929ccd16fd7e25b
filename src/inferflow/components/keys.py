"""From columns to entity keys: each distinct key once, and how to spread the answers back.

A key is a tuple of columns, of any type, in any step's hands. Values become their one key
text; nothing is ever joined by a separator that a value might contain.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from operator import itemgetter
from typing import Any

import numpy as np

from inferflow.dtypes.keytext import canonical_key, canonical_keys
from inferflow.engine.matrix import Matrix, merged
from inferflow.engine.ports import Array, KeyColumns, ReadState
from inferflow.errors import InvalidInput
from inferflow.plan.plan import Column, KeySource

Part = Array | list[str]
"""A column of a key: any values, or texts that are known to be key texts."""

SORTING_PAYS = 500
"""Rows of whole numbers from which on sorting them is faster than a dictionary. Measured."""


@dataclass(slots=True)
class KeyBatch:
    columns: KeyColumns
    """Unique keys, one sequence per part."""
    count: int
    inverse: Array | None
    """row → key; None when rows and keys are the same, or one key stands for all rows."""
    unusable: Array | None = None
    """Rows that have no key because a column they need has no real value there. Their entry
    in `inverse` means nothing."""


def key_batch(keys: Sequence[KeySource], matrix: Matrix) -> KeyBatch:
    """The distinct keys of a step's rows."""
    if len(keys) == 1:
        texts = matrix.keys(keys[0].column)
        if texts is not None:  # ids of the request, as they are for most steps
            # A set is far quicker to make than the dictionary that finds which ones are the same.
            differ = len(set(texts)) == len(texts)
            return KeyBatch((texts,), len(texts), None) if differ else _of_rows([texts])
    unusable = None
    if matrix.has_gaps:
        unusable = merged([_without_value(key.column, matrix) for key in keys], matrix.rows)
    parts: list[Part] = [matrix.keys(key.column) or matrix.column(key.column) for key in keys]
    if max(map(len, parts)) == 1:
        return _one_for_all(parts, unusable, matrix.rows)
    try:
        if unusable is None:
            return _of_rows(parts)
        arrays = [matrix.column(key.column) for key in keys]
        return _of_usable_rows(arrays, unusable, matrix.rows)
    except InvalidInput:
        arrays = [matrix.column(key.column) for key in keys]
        textless = _without_key_text(arrays, matrix.rows)
        unusable = textless if unusable is None else unusable | textless
        return _of_usable_rows(arrays, unusable, matrix.rows)


def _one_for_all(parts: Sequence[Part], unusable: Array | None, rows: int) -> KeyBatch:
    try:
        texts = tuple([[canonical_key(part[0])] for part in parts])
    except InvalidInput:
        return KeyBatch(tuple([] for _ in parts), 0, None, np.ones(rows, dtype=bool))
    if unusable is not None and unusable.any():
        return KeyBatch(tuple([] for _ in parts), 0, None, np.ones(rows, dtype=bool))
    return KeyBatch(texts, 1, None)


def _of_rows(parts: Sequence[Part]) -> KeyBatch:
    # Parts that are the same for all rows tell no keys apart, so they are left out of the search.
    varying = [part for part in parts if len(part) > 1]
    if not varying:
        return KeyBatch(tuple([canonical_key(part[0])] for part in parts), 1, None)
    distinct, inverse = _distinct(varying)
    count = len(distinct[0])
    taken = iter(distinct)
    texts = tuple(
        [
            _texts(next(taken), part) if len(part) > 1 else [canonical_key(part[0])] * count
            for part in parts
        ]
    )
    return KeyBatch(texts, count, inverse)


def _distinct(varying: Sequence[Part]) -> tuple[list[Sequence[Any]], Array | None]:
    """Each distinct combination once, one sequence per part, and row → combination (None when
    all rows differ)."""
    first = varying[0]
    if len(varying) > 1:
        rows: list[Any] = list(zip(*map(_listed, varying), strict=True))
    elif isinstance(first, list):
        rows = first
    elif first.dtype.kind in "iu" and len(first) > SORTING_PAYS:
        found, inverse = np.unique(first, return_inverse=True)
        return [found.tolist()], inverse
    else:
        rows = first.tolist()
    number = dict.fromkeys(rows)
    if len(number) == len(rows):
        return [rows] if len(varying) == 1 else list(map(_listed, varying)), None
    position = dict(zip(number, range(len(number)), strict=True))
    distinct: list[Sequence[Any]] = (
        [list(number)] if len(varying) == 1 else list(zip(*number, strict=True))
    )
    return distinct, np.array(itemgetter(*rows)(position), np.intp)


def _listed(part: Part) -> list[Any]:
    return part if isinstance(part, list) else part.tolist()


def _texts(values: Sequence[Any], part: Part) -> Sequence[str]:
    """The key texts of some of a part's values."""
    if isinstance(part, list):
        return values
    dtype = part.dtype
    if dtype.kind in "iu":
        return list(map(repr, values))  # the same as `str` for whole numbers, and quicker
    if dtype.kind == "O":
        try:
            "".join(values)  # the quickest way to see that all of them are text
        except TypeError:
            return canonical_keys(values)
        return canonical_keys(values) if "" in values else list(values)
    # The shortest text of a float depends on its width, so it gets its width back.
    return canonical_keys(np.array(values, dtype=dtype))


def _of_usable_rows(parts: Sequence[Array], unusable: Array, rows: int) -> KeyBatch:
    usable = np.flatnonzero(~unusable)
    if len(usable) == 0:
        return KeyBatch(tuple([] for _ in parts), 0, None, unusable)
    batch = _of_rows([part if len(part) == 1 else part[usable] for part in parts])
    inverse = np.zeros(rows, dtype=np.intp)
    inverse[usable] = np.arange(len(usable)) if batch.inverse is None else batch.inverse
    return KeyBatch(batch.columns, batch.count, inverse, unusable if unusable.any() else None)


def _without_value(column: Column, matrix: Matrix) -> Array | None:
    """Rows whose value is no real key: blank, or a stand-in nobody declared."""
    if matrix.is_pinned(column):
        return None
    invalid = matrix.invalid(column.block)
    if column.has_default:
        return invalid
    states = matrix.states(column.block)
    stand_in = None if states is None else states != ReadState.REAL
    return merged([invalid, stand_in, matrix.absent(column)], matrix.rows)


def _without_key_text(parts: Sequence[Array], rows: int) -> Array:
    unusable = np.zeros(rows, dtype=bool)
    for part in parts:
        for row, value in enumerate(part if len(part) > 1 else [part[0]] * rows):
            try:
                canonical_key(value)
            except InvalidInput:
                unusable[row] = True
    return unusable
