"""Which columns exist, who writes each, and which one a written name means.

Two passes. First every step declares what it writes and says what it reads; a read name that
nobody writes becomes a request column. Then request columns get their place and names
resolve to columns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from inferflow.dtypes import STRING, DType
from inferflow.plan.plan import Block, Column, RequestColumn, Space
from inferflow.plan.problems import Problems, closest_hint
from inferflow.plan.spec import INIT, Use

CONTEXT = "context:"


@dataclass(slots=True)
class _Wish:
    """What readers want of a name that the request must bring."""

    name: str
    dtypes: list[DType] = field(default_factory=list)
    dims: set[int] = field(default_factory=set)
    defaults: list[Any] = field(default_factory=list)
    wheres: list[str] = field(default_factory=list)
    is_key: bool = False
    at_slate: bool = False
    at_target: bool = False
    constant: str | None = None


class ColumnBook:
    """Collects columns while a config is compiled."""

    def __init__(self, above: Mapping[str, Collection[str]], problems: Problems) -> None:
        self.blocks: list[Block] = []
        self.request_columns: list[RequestColumn] = []
        self._above = above
        self._problems = problems
        self._written: dict[str, Column] = {}
        self._aliases: dict[str, list[Column]] = {}
        self._wishes: dict[str, _Wish] = {}
        self._requested: dict[str, RequestColumn] = {}

    # --- writing -----------------------------------------------------------------------------

    def new_block(
        self, dtype: DType | None, width: int | None, step: str, space: Space = "target"
    ) -> int:
        self.blocks.append(Block(len(self.blocks), dtype, width, space, step))
        return len(self.blocks) - 1

    def declare(self, column: Column, *, where: str, aliases: Collection[str] = ()) -> None:
        """A step writes this column, and only that step may."""
        other = self._written.get(column.name)
        if other is not None:
            self._problems.error(
                where,
                f"column {column.name!r} is already written by {other.step!r}",
                "give one of them another col_name_prefix or column name",
            )
            return
        self._written[column.name] = column
        for alias in aliases:
            self._aliases.setdefault(alias, []).append(column)

    def constant(self, name: str, value: str) -> None:
        """A column whose value the config itself implies, the same on every row."""
        self._wishes[name] = _Wish(name, dtypes=[STRING], constant=value)

    # --- reading, first pass -----------------------------------------------------------------

    def want(
        self, use: Use, *, reader: str | None, is_key: bool = False, slate: bool = False
    ) -> None:
        """Note that somebody reads this name. `reader` None is the response."""
        if self._find(use.column, use.where) is not None:
            if use.default is not None:
                self._problems.error(
                    use.where,
                    "a default here is for columns of the request, but a step writes this one",
                    "set it under `defaults` of the feature group",
                )
            return
        if use.column not in self._wishes and not self._may_be_requested(
            use, reader=reader, is_key=is_key
        ):
            return
        wish = self._wishes.setdefault(use.column, _Wish(use.column))
        if reader is not None:
            wish.wheres.append(use.where)
        if use.dtype is not None:
            wish.dtypes.append(use.dtype)
        if use.dim is not None:
            wish.dims.add(use.dim)
        if use.default is not None and use.default not in wish.defaults:
            wish.defaults.append(use.default)
        wish.is_key |= is_key
        wish.at_slate |= slate
        wish.at_target |= reader is not None and not slate

    def _find(self, name: str, where: str) -> Column | None:
        column = self._written.get(name)
        if column is not None:
            return column
        found = self._aliases.get(name, [])
        if len(found) > 1:
            names = " or ".join(repr(other.name) for other in found)
            self._problems.error(where, f"{name!r} may mean {names}", "write the full name")
        return found[0] if found else None

    def _may_be_requested(self, use: Use, *, reader: str | None, is_key: bool) -> bool:
        """Whether an unwritten name may come with the request, or must be a mistake."""
        if use.column.startswith(CONTEXT):
            return True
        prefix, _, _ = use.column.rpartition(":")
        writers = {
            column.step
            for name, column in self._written_names()
            if prefix and name.rpartition(":")[0] == prefix
        }
        if is_key:
            # `user:profile:user_id` as the key of the very step that writes `user:profile:…`
            # can only mean the user the request names.
            mistaken = bool(writers - {reader})
        else:
            families = {name.partition(":")[0] for name, _ in self._written_names()}
            mistaken = bool(writers) or (bool(prefix) and prefix.partition(":")[0] in families)
        if mistaken:
            hint = closest_hint(use.column, [name for name, _ in self._written_names()])
            self._problems.error(use.where, f"no step writes column {use.column!r}", hint)
        return not mistaken

    def _written_names(self) -> list[tuple[str, Column]]:
        return [
            *self._written.items(),
            *((alias, found[0]) for alias, found in self._aliases.items()),
        ]

    # --- between the passes ------------------------------------------------------------------

    def place_requested(self) -> None:
        """Give every request column its block."""
        for wish in self._wishes.values():
            role: Literal["key", "value", "constant"] = (
                "constant" if wish.constant is not None else "key" if wish.is_key else "value"
            )
            dtype = wish.dtypes[0] if len(set(wish.dtypes)) == 1 else None
            if len(wish.dims) > 1:
                self._problems.error(wish.wheres[0], f"{wish.name!r} is given several lengths")
            if len(wish.defaults) > 1:
                self._problems.error(wish.wheres[0], f"{wish.name!r} is given several defaults")
            is_vector = any(d.is_vector for d in wish.dtypes)
            width = next(iter(wish.dims), None) if is_vector else 1
            if role == "key":
                dtype, width = None, 1
            places = {
                space: self._place(wish.name, dtype, width, space)
                for space in (("target", "slate") if wish.at_slate else ("target",))
            }
            self._requested[wish.name] = RequestColumn(
                wish.name,
                role,
                dtype,
                width,
                wish.constant if wish.constant is not None else next(iter(wish.defaults), None),
                places["target"],
                places.get("slate"),
                tuple(wish.wheres),
                per_target=wish.at_target,
            )
        self.request_columns = list(self._requested.values())

    def _place(self, name: str, dtype: DType | None, width: int | None, space: Space) -> Column:
        block = self.new_block(dtype.element if dtype else None, width, INIT, space)
        return Column(name, dtype, width, block, 0, space, INIT)

    # --- reading, second pass ----------------------------------------------------------------

    def resolve(
        self, use: Use, *, reader: str | None, slate: bool = False
    ) -> tuple[Column | None, Column | None]:
        """(per-target column, slate-level column) of a name; both None after a problem."""
        column = self._written.get(use.column) or next(
            iter(self._aliases.get(use.column, [])), None
        )
        if column is None:
            requested = self._requested.get(use.column)
            if requested is None:
                return None, None
            return requested.target, requested.slate if slate else None
        if reader is not None and column.step not in self._above[reader]:
            whose = "itself" if column.step == reader else repr(column.step)
            self._problems.error(
                use.where,
                f"column {column.name!r} is written by {whose}, which {reader!r} does not wait for",
                f"let {column.step!r} feed {reader!r} in component_dependency",
            )
        if column.space == "slate" and reader is not None and not slate:
            self._problems.error(
                use.where,
                f"column {column.name!r} has one value per slate, but this step works per target",
                "set slate_component on this step too",
            )
        return (None, column) if column.space == "slate" else (column, None)

    def all_names(self) -> dict[str, Column]:
        """Every column by every unambiguous name."""
        names = {alias: found[0] for alias, found in self._aliases.items() if len(found) == 1}
        names.update({r.name: r.target for r in self._requested.values() if r.target is not None})
        names.update(self._written)
        return names


def default_array(value: Any, dtype: DType, width: int) -> np.ndarray[Any, Any]:
    """A default as one row of its column. Raises ValueError or TypeError if it does not fit."""
    if dtype.is_text:
        row = np.empty(width, dtype=object)
        row[:] = value if isinstance(value, list) else str(value)
        return row
    row = np.asarray(value, dtype=np.float64 if dtype.is_float else None)
    if row.dtype.kind not in "fiub":
        raise ValueError(f"{value!r} is not a {dtype.name}")
    converted = np.broadcast_to(row, (width,)).astype(dtype.numpy)
    if not dtype.is_float and not np.array_equal(converted, np.broadcast_to(row, (width,))):
        raise ValueError(f"{value!r} does not fit {dtype.name}")
    return converted
