"""What a request is answered with: one row per target, and per pair or slate when asked."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from inferflow.dtypes import DType
from inferflow.errors import InvalidInput, MissingExtra, NotFound
from inferflow.tabular import table as table_lines

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(slots=True)
class ScoreColumn:
    """One column of an answer."""

    name: str
    dtype: DType
    values: Array
    """One value per row, [rows] or [rows, width]. A blank row holds no meaning."""
    blank: Array | None = None
    """Mask of rows without a value; None when all have one."""

    def to_list(self) -> list[Any]:
        """Plain Python values, None where there is none."""
        values = _listed(self.values)
        if self.blank is not None:
            for row in np.flatnonzero(self.blank):
                values[row] = None
        return values


def _listed(values: Array) -> list[Any]:
    # float8 and friends have no Python form of their own; every number has a float.
    known = values.dtype.kind in "fiubO" and values.dtype.isbuiltin == 1
    listed: list[Any] = (values if known else values.astype(np.float32)).tolist()
    return listed


@dataclass(slots=True)
class Table:
    """Columns of equal length with an error text per row (empty when the row is fine)."""

    columns: Mapping[str, ScoreColumn]
    errors: Sequence[str]

    def __getitem__(self, name: str) -> Array:
        """Values of a column; rows without one are NaN where the type has it. Raises NotFound."""
        column = self.column(name)
        if column.blank is None:
            return column.values
        if column.values.dtype.kind == "f":
            values = column.values.copy()
            values[column.blank] = np.nan
            return values
        return np.ma.masked_array(column.values, _spread(column.blank, column.values))

    def column(self, name: str) -> ScoreColumn:
        found = self.columns.get(name)
        if found is None:
            close = difflib.get_close_matches(str(name), self.columns, n=1)
            raise NotFound("column", name, nearest=close[0] if close else "")
        return found

    def to_dict(self) -> dict[str, list[Any]]:
        return {name: column.to_list() for name, column in self.columns.items()}


def _spread(mask: Array, values: Array) -> Array:
    return mask if values.ndim == 1 else np.repeat(mask[:, None], values.shape[1], axis=1)


@dataclass(slots=True)
class Scores:
    """The answer to one request."""

    config_id: str
    ids: Sequence[str]
    """The targets, in the order they were asked for."""
    targets: Table
    groups: Table | None = None
    """Pair or slate scores, in request order."""
    grouping: Literal["pairs", "slates"] | None = None
    members: Sequence[Sequence[int]] = ()
    """Target rows of each pair or slate."""
    config_version: str = ""
    arm: str = ""
    """The config that answered, when the id asked for stands for several."""
    recording: str = ""
    """Under which id a server keeps what happened, when it was asked to."""
    recorder: Callable[[], Any] | None = field(default=None, repr=False, compare=False)
    """Explains the answer, or scores the same request again to do so; set by whoever can."""

    @property
    def columns(self) -> Mapping[str, Array]:
        """Target columns by name."""
        return {name: self.targets[name] for name in self.targets.columns}

    @property
    def errors(self) -> Sequence[str]:
        """Error text per target; empty when it is fine."""
        return self.targets.errors

    @property
    def pairs(self) -> Table | None:
        return self.groups if self.grouping == "pairs" else None

    @property
    def slates(self) -> Table | None:
        return self.groups if self.grouping == "slates" else None

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, name: str) -> Array:
        """A target column, or a pair or slate column, by name."""
        if self.groups is not None and name in self.groups.columns:
            return self.groups[name]
        return self.targets[name]

    def ranked(self, by: str | None = None) -> list[int]:
        """Target rows from best to worst by a column (the last numeric one unless named).
        Rows without a value come last; equal scores keep the request's order."""
        name = by or self._score_name()
        if name is None:
            return list(range(len(self.ids)))
        column = self.targets.column(name)
        if column.dtype.is_text or column.values.ndim != 1:
            raise InvalidInput(f"column {name!r} is {column.dtype.name}; targets rank by a number")
        worth = np.array(column.values, dtype=np.float64)
        has_none = np.isnan(worth)
        if column.blank is not None:
            has_none |= column.blank
        worth[has_none] = 0.0
        rows: list[int] = np.lexsort((-worth, has_none)).tolist()
        return rows

    def _score_name(self) -> str | None:
        numeric = [
            name
            for name, column in self.targets.columns.items()
            if not column.dtype.is_text and not column.dtype.is_vector
        ]
        return numeric[-1] if numeric else None

    def lines(self, top: int | None = None) -> list[str]:
        """Targets and, where asked for, pairs or slates as tables, each from best to worst."""
        shown: list[str] = []
        if self.targets.columns:
            shown += _ranked_table(self.targets, "id", self.ids, top)
        if self.groups is not None:
            members = [", ".join(self.ids[row] for row in rows) for rows in self.members]
            shown += [""] if shown else []
            shown += _ranked_table(self.groups, str(self.grouping), members, top)
        return shown

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def to_dict(self) -> dict[str, Any]:
        """Plain values: lists, texts and numbers. NaN and infinities stay what they are, and
        strict JSON has no form for them."""
        answer: dict[str, Any] = {
            "model_config_id": self.config_id,
            "config_version": self.config_version,
            **({"arm": self.arm} if self.arm else {}),
            "ids": list(self.ids),
            "columns": self.targets.to_dict(),
            "errors": list(self.targets.errors),
        }
        if self.groups is not None and self.grouping is not None:
            answer[self.grouping] = {
                "members": [list(rows) for rows in self.members],
                "columns": self.groups.to_dict(),
                "errors": list(self.groups.errors),
            }
        return answer

    def to_pandas(self) -> Any:
        """Targets as a DataFrame indexed by id, with an `error` column."""
        try:
            import pandas as pd
        except ModuleNotFoundError as missing:
            raise MissingExtra("pandas", for_what="to_pandas()") from missing
        data = {**self.targets.to_dict(), "error": list(self.errors)}
        return pd.DataFrame(data, index=pd.Index(list(self.ids), name="id"))

    def to_arrow(self) -> Any:
        """Targets as an Arrow table with `id` and `error` columns."""
        try:
            import pyarrow as pa
        except ModuleNotFoundError as missing:
            raise MissingExtra("parquet", for_what="to_arrow()") from missing
        columns = {name: _arrow(pa, column) for name, column in self.targets.columns.items()}
        return pa.table(
            {
                "id": pa.array(list(self.ids), pa.string()),
                **columns,
                "error": pa.array(list(self.errors), pa.string()),
            }
        )

    def explain(self) -> Any:
        """Say what happened, if that was kept (`explain=True`); else score the same request
        again, watched. Of an `aconnect` client: to be awaited."""
        if self.recorder is None:
            raise InvalidInput("these scores were made by nobody who could explain them")
        return self.recorder()


def _ranked_table(table: Table, header: str, names: Sequence[str], top: int | None) -> list[str]:
    order = Scores("", names, table).ranked()[:top]
    columns = [column.to_list() for column in table.columns.values()]
    rows: list[list[Any]] = [
        [rank, names[row], *(column[row] for column in columns), table.errors[row]]
        for rank, row in enumerate(order, start=1)
    ]
    return table_lines(["rank", header, *table.columns, "error"], rows)


def _arrow(pa: Any, column: ScoreColumn) -> Any:
    """A column in its own type, so that an answer of blanks has the schema of any other."""
    kind = column.dtype.numpy
    element = (
        pa.string()
        if column.dtype.is_text
        else pa.from_numpy_dtype(kind if kind.isbuiltin == 1 else np.dtype(np.float32))
    )
    return pa.array(column.to_list(), pa.list_(element) if column.values.ndim == 2 else element)
