"""Which columns exist, who writes each, and which one a written name means.

Two passes. First every step declares what it writes and says what it reads; a read name that
nobody writes becomes a request column. Then request columns get their place and names
resolve to columns.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from inferflow.dtypes import STRING, DType
from inferflow.plan.defaults import default_row
from inferflow.plan.plan import Block, Column, RequestColumn, Space
from inferflow.plan.problems import Problems, closest_hint
from inferflow.plan.spec import CONTEXT as CONTEXT
from inferflow.plan.spec import INIT, Use


@dataclass(slots=True)
class _Wish:
    """What readers want of a name that the request must bring."""

    name: str
    dtypes: list[DType] = field(default_factory=list)
    is_read_untyped: bool = False
    """Some step takes the value as it comes, so another's type must not change it first."""
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

    def constant(self, name: str, value: str, *, where: str) -> None:
        """A column whose value the config itself implies, the same on every row."""
        other = self._wishes.get(name)
        if other is not None and other.constant != value:
            self._problems.error(where, f"column {name!r} is already {other.constant!r}")
            return
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
        elif reader is not None:
            wish.is_read_untyped = True
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
        family, is_qualified, _ = use.column.partition(":")
        if use.column.startswith(CONTEXT) or not is_qualified:
            return True
        writers = {
            column.step
            for name, column in self._written_names()
            if name.partition(":")[0] == family
        }
        if is_key:
            # `user:profile:user_id` names the user of the request, whoever writes `user:…`; any
            # other name of that family does so only as the key of the step that writes it.
            own = use.column.rpartition(":")[2].removesuffix("_id") == family
            writers = set() if own else writers - {reader}
        if writers:
            hint = closest_hint(use.column, [name for name, _ in self._written_names()])
            self._problems.error(use.where, f"no step writes column {use.column!r}", hint)
        return not writers

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
            is_vector = any(d.is_vector for d in wish.dtypes)
            is_typed = len(set(wish.dtypes)) == 1 and (is_vector or not wish.is_read_untyped)
            dtype = wish.dtypes[0] if is_typed else None
            if len(wish.dims) > 1:
                self._problems.error(wish.wheres[0], f"{wish.name!r} is given several lengths")
            if len(wish.defaults) > 1:
                self._problems.error(wish.wheres[0], f"{wish.name!r} is given several defaults")
            width = next(iter(wish.dims), None) if is_vector else 1
            if role == "key":
                dtype, width = None, 1
            elif role == "value" and dtype is not None and width is not None:
                self._check_default(wish, dtype, width)
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

    def _check_default(self, wish: _Wish, dtype: DType, width: int) -> None:
        for default in wish.defaults:
            try:
                row = default_row(default, dtype.element, width)
            except ValueError as wrong:
                self._problems.error(wish.wheres[0], str(wrong))
            else:
                wish.defaults = [row.tolist() if dtype.is_vector else default]

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
        if column.step == reader:
            self._problems.error(use.where, f"column {column.name!r} is what this step writes")
        elif reader is not None and column.step not in self._above[reader]:
            self._problems.error(
                use.where,
                f"column {column.name!r} is written by {column.step!r}, "
                f"which {reader!r} does not wait for",
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
