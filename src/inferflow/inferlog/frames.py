"""Logged requests as one table of plain columns, for any number of requests of one config.

Columns that begin with an underscore say which row of which request it is and what answered it;
then come the logged columns under their own names, in their own types. What has no value is null.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from inferflow.dtypes import FP32, Array, DType, dtype_of, format_text
from inferflow.engine.matrix import Matrix
from inferflow.inferlog.arrow import pyarrow
from inferflow.inferlog.cells import is_there
from inferflow.inferlog.schema import PlacedField
from inferflow.inferlog.states import state_columns, state_words
from inferflow.inferlog.taken import PlanLog, Taken
from inferflow.plan.plan import Column, Space

SCHEMA_KEY = b"inferflow.log_schema"
"""Under which a table carries its log schema, as JSON."""


IN_FILES = "inference logs in files"
_AT_ONCE = 8
"""Columns between two pauses: about half a millisecond of work."""
_PAUSE_S = 0.0001


class Frames:
    """Makes the tables of one config."""

    def __init__(self, log: PlanLog) -> None:
        self._pa = pyarrow(IN_FILES)
        self._log = log
        self._states = state_columns(log.plan)
        taken = {name for name, _ in self._own_types()}
        self._values = [
            (f"{each.field.name}_" if each.field.name in taken else each.field.name, each)
            for each in log.placed
        ]
        self.schema = self._pa.schema(
            [*self._own_types(), *((name, self._type(each)) for name, each in self._values)],
            metadata={SCHEMA_KEY: json.dumps(log.schema.to_dict()).encode()},
        )

    def table(self, requests: Sequence[Taken]) -> Any:
        """All their rows: the targets of all of them, then their pairs or slates."""
        parts = [self._part(requests, "target")]
        grouped = [each for each in requests if each.run.slates is not None]
        if grouped:
            parts.append(self._part(grouped, "slate"))
        return self._pa.concat_tables(parts)

    def _part(self, requests: Sequence[Taken], space: Space) -> Any:
        matrices = [each.run.matrix for each in requests]
        counts = [matrix.count(space) for matrix in matrices]
        blocks = _Blocks(matrices, counts, space)
        columns = self._own(requests, counts, space)
        for number, (_, each) in enumerate(self._values):
            columns.append(self._column(each, blocks, space))
            if number % _AT_ONCE == 0:
                time.sleep(_PAUSE_S)  # a request may be waiting for the interpreter
        return self._pa.Table.from_arrays(columns, schema=self.schema)

    # --- which row this is --------------------------------------------------------------------

    def _own_types(self) -> list[tuple[str, Any]]:
        pa = self._pa
        texts = ("_config_id", "_config_version", "_experiment", "_user_id", "_tracking_id")
        models = [f"{what}:{step}" for step, _ in self._log.models for what in _MODEL_COLUMNS]
        return [
            ("_at", pa.timestamp("us", tz="UTC")),
            *((name, pa.string()) for name in texts),
            ("_parent_entity", pa.string()),
            ("_rows", pa.string()),
            ("_position", pa.int32()),
            ("_id", pa.string()),
            ("_members", pa.list_(pa.string())),
            ("_error", pa.string()),
            *((name, pa.string()) for name in models),
            *((name, pa.string()) for name, _ in self._states),
        ]

    def _own(self, requests: Sequence[Taken], counts: Sequence[int], space: Space) -> list[Any]:
        pa, rows = self._pa, sum(counts)
        request_of_row = pa.array(np.repeat(np.arange(len(requests)), counts))

        def repeated(values: Iterable[Any], kind: Any) -> Any:
            first, *others = each = list(values)
            if others.count(first) == len(others):  # what a config has, all of its requests have
                return pa.repeat(pa.scalar(first, kind), rows)
            return pa.array(each, kind).take(request_of_row)

        text = pa.string()
        ids: list[Any] = []
        for each in requests:
            ids += each.ids(space)
        is_target = space == "target"
        return [
            repeated((int(each.at * 1e6) for each in requests), pa.timestamp("us", tz="UTC")),
            repeated((each.config_id for each in requests), text),
            repeated((each.log.plan.digest for each in requests), text),
            repeated((each.experiment or None for each in requests), text),
            repeated((_clean(each.user_id) for each in requests), text),
            repeated((_clean(each.run.request.tracking_id) for each in requests), text),
            repeated((_clean(each.run.request.parent_entity) or None for each in requests), text),
            repeated((each.kind(space) for each in requests), text),
            pa.array(np.concatenate([np.arange(count, dtype=np.int32) for count in counts])),
            pa.array(_all_clean(ids), text) if is_target else pa.nulls(len(ids), text),
            pa.nulls(len(ids), pa.list_(text)) if is_target else pa.array(ids, pa.list_(text)),
            self._errors(requests, counts, space),
            *(
                repeated((models.get(step, ("", ""))[at] for models in used), text)
                for used in [[each.models() for each in requests]]
                for step, _ in self._log.models
                for at in (0, 1)
            ),
            *self._state_words(requests, counts, space),
        ]

    def _state_words(
        self, requests: Sequence[Taken], counts: Sequence[int], space: Space
    ) -> list[Any]:
        if space != "target":
            return [self._pa.nulls(sum(counts), self._pa.string()) for _ in self._states]
        matrices = [each.run.matrix for each in requests]
        return [state_words(self._pa, block, matrices, counts) for _, block in self._states]

    def _errors(self, requests: Sequence[Taken], counts: Sequence[int], space: Space) -> Any:
        if not any(each.run.has_marks for each in requests):
            return self._pa.nulls(sum(counts), self._pa.string())
        errors = [error or None for each in requests for error in each.run.errors(space)]
        return self._pa.array(errors, self._pa.string())

    # --- what was logged ----------------------------------------------------------------------

    def _type(self, placed: PlacedField) -> Any:
        pa, dtype = self._pa, _dtype(placed)
        if dtype is None or dtype.is_text:
            element = pa.string()
        else:
            element = pa.from_numpy_dtype(_plain(dtype))
        return pa.list_(element) if dtype is not None and dtype.is_vector else element

    def _column(self, placed: PlacedField, blocks: _Blocks, space: Space) -> Any:
        pa, kind, column = self._pa, self._type(placed), placed.column(space)
        if column is None:
            return pa.nulls(blocks.rows, kind)
        dtype = column.dtype
        if dtype is None or dtype.is_text or column.width is None or not blocks.has(column):
            return pa.array(blocks.listed(column), kind)
        block, mask = blocks.block(column.block), blocks.blank(column)
        if not dtype.is_vector:
            return pa.array(_as(block[:, column.offset], dtype), kind, mask=mask)
        values = _as(block[:, column.offset : column.offset + column.width], dtype)
        offsets = pa.array(np.arange(len(values) + 1, dtype=np.int32) * column.width)
        flat = pa.array(values.ravel())
        masked = None if mask is None else pa.array(mask)
        return pa.ListArray.from_arrays(offsets, flat, mask=masked)


class _Blocks:
    """Blocks of several requests below each other; each is put together once."""

    def __init__(self, matrices: Sequence[Matrix], counts: Sequence[int], space: Space) -> None:
        self.rows = sum(counts)
        self._matrices = matrices
        self._counts = counts
        self._space = space
        self._has_blanks = any(matrix.has_blanks for matrix in matrices)
        self._there: dict[int, bool] = {}
        self._blocks: dict[int, Array] = {}

    def has(self, column: Column) -> bool:
        """Whether every request has the column."""
        found = self._there.get(column.block)
        if found is None:
            found = all(is_there(matrix, column, self._space) for matrix in self._matrices)
            self._there[column.block] = found
        return found

    def block(self, index: int) -> Array:
        """One row that stands for all of a request's is repeated."""
        found = self._blocks.get(index)
        if found is None:
            parts = [matrix.block(index) for matrix in self._matrices]
            found = np.empty((self.rows, parts[0].shape[1]), parts[0].dtype)
            at = 0
            for part, count in zip(parts, self._counts, strict=True):
                found[at : at + count] = part
                at += count
            self._blocks[index] = found
        return found

    def blank(self, column: Column) -> Array | None:
        """Mask of rows on which the column has no value; None when all have one."""
        if not self._has_blanks:
            return None
        masks = [matrix.blank(column) for matrix in self._matrices]
        parts = [
            np.zeros(count, bool) if mask is None else mask
            for mask, count in zip(masks, self._counts, strict=True)
        ]
        return np.concatenate(parts)

    def listed(self, column: Column) -> list[Any]:
        """Value by value; None where there is none."""
        values: list[Any] = []
        for matrix, count in zip(self._matrices, self._counts, strict=True):
            if is_there(matrix, column, self._space):
                values += _listed(matrix, column, count)
            else:
                values += [None] * count
        return values


_MODEL_COLUMNS = ("_endpoint", "_model_version")


def _dtype(placed: PlacedField) -> DType | None:
    column = placed.target or placed.slate
    assert column is not None
    return column.dtype


def _plain(dtype: DType) -> np.dtype[Any]:
    """The nearest type that every reader of Parquet knows."""
    kind = dtype.element.numpy
    return FP32.numpy if kind.isbuiltin != 1 or dtype.element.name == "FP16" else kind


def _as(values: Array, dtype: DType) -> Array:
    kind = _plain(dtype)
    return np.ascontiguousarray(values if values.dtype == kind else values.astype(kind))


def _listed(matrix: Matrix, column: Column, count: int) -> list[Any]:
    """One value per row; None where there is none. Without a type of its own, as text."""
    keys = matrix.keys(column)
    if keys is not None:
        values: list[Any] = _all_clean(keys)
    else:
        array = matrix.column(column)
        dtype = column.dtype
        if dtype is None or (dtype.is_text and not dtype.is_vector):
            values = _all_clean(format_text(array, dtype or dtype_of(array)))
        elif dtype.is_text:
            values = [[_clean(text) for text in row] for row in array.tolist()]
        else:
            values = _as(array, dtype).tolist()
    if len(values) == 1 != count:
        values = values * count
    blank = matrix.blank(column)
    if blank is not None:
        values = [None if is_blank else each for each, is_blank in zip(values, blank, strict=True)]
    return values


def _clean(text: str) -> str:
    """Text as UTF-8 has it: what came as other bytes is shown by question marks."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def _all_clean(texts: list[str]) -> list[str]:
    return texts if "".join(texts).isascii() else [_clean(text) for text in texts]
