"""Any query over rows of any age, checked against one value at a time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from inferflow.dtypes import DTYPES, Array, DType, cast, parse_dtype
from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import GroupRows, ReadState
from inferflow.errors import CastFailed
from inferflow.featurestore import FeatureStore, MemoryBackend, parse_schema
from inferflow.plan.query import FeatureRead, GroupRead, RunRead

NAMES = ("a", "b", "c", "d")
TYPES = st.sampled_from([DTYPES[code] for code in (2, 4, 5, 6, 9, 13, 14, 15, 19, 23, 29, 30)])
KEYS = ("1", "2", "3", "4")
TTL_S = 100.0


@st.composite
def features(draw: st.DrawFn) -> dict[str, dict[str, Any]]:
    """Some of four names, each of any type, some with a default, in any order."""
    chosen: dict[str, dict[str, Any]] = {}
    for name in draw(st.permutations(NAMES))[: draw(st.integers(1, len(NAMES)))]:
        dtype = draw(TYPES)
        chosen[name] = {"dtype": dtype.name}
        if dtype.is_vector:
            chosen[name]["dim"] = draw(st.integers(1, 2))
        if draw(st.booleans()):
            chosen[name]["default"] = draw(value_of(dtype, 1)) if not dtype.is_vector else 1
    return chosen


def value_of(dtype: DType, dim: int) -> st.SearchStrategy[Any]:
    """Small values: that every bit pattern survives is shown for rows alone."""
    one: st.SearchStrategy[Any]
    if dtype.is_text:
        one = st.sampled_from(["", "7", "-2.5", "ü:,", "true"])
    elif dtype.is_bool:
        one = st.booleans()
    elif dtype.is_float:
        one = st.sampled_from([0.0, 1.5, -2.0, float("nan")])
    else:
        one = st.integers(0, 100)
    return st.lists(one, min_size=dim, max_size=dim) if dtype.is_vector else one


@dataclass
class Cell:
    dtype: DType
    dim: int
    value: Any


@dataclass
class Row:
    written: float
    cells: dict[str, Cell] = field(default_factory=dict)


@dataclass
class World:
    """The store, and the same story as plain dicts."""

    now: float = 1000.0
    rows: dict[str, Row] = field(default_factory=dict)


def array_of(dtype: DType, value: Any) -> Array:
    out = np.empty((1, len(value) if dtype.is_vector else 1), dtype.element.numpy)
    out[0] = value
    return out


def converted(cell: Cell, declared: DType, wanted: DType) -> Array | None:
    """One cell through the cast table, or None when it has no form there."""
    try:
        first = cast(array_of(cell.dtype, cell.value), cell.dtype.vector, declared.vector)
        return cast(first, declared.vector, wanted.vector)
    except CastFailed:
        return None


def default_of(spec: dict[str, Any], wanted: DType) -> Array | None:
    dtype = parse_dtype(spec["dtype"])
    dim = spec.get("dim", 1)
    if "default" not in spec:
        zero = "" if dtype.is_text else 0
        found = converted(
            Cell(dtype, dim, [zero] * dim if dtype.is_vector else zero), dtype, wanted
        )
        return np.zeros((1, dim), wanted.numpy) if found is None else found
    value = [spec["default"]] * dim if dtype.is_vector else spec["default"]
    if dtype.is_vector and dtype.is_text:
        value = [str(each) for each in value]
    return converted(Cell(dtype, dim, value), dtype, wanted)


def check(rows: GroupRows, runs: tuple[RunRead, ...], schema: dict[str, Any], world: World) -> None:
    for at, key in enumerate(KEYS):
        row = world.rows.get(key)
        state = ReadState.MISSING if row is None else ReadState.REAL
        if row is not None and row.written + TTL_S <= world.now:
            state = ReadState.EXPIRED
        assert (0 if rows.states is None else rows.states[at]) == state
        lacking: set[str] = set()
        for run, found in zip(runs, rows.runs, strict=True):
            start = 0
            for name, width in zip(run.features, run.widths, strict=True):
                got = found[at : at + 1, start : start + width]
                start += width
                want = None
                if row is not None and state is ReadState.REAL:
                    want = expected(row.cells.get(name), schema[name], run.dtype)
                    lacking |= {name} if want is None else set()
                if want is None:
                    want = default_of(schema[name], run.dtype)
                assert want is not None
                assert repr(got.tolist()) == repr(want.tolist())
        assert {name for name, mask in rows.absent.items() if mask[at]} == lacking


def expected(cell: Cell | None, spec: dict[str, Any], wanted: DType) -> Array | None:
    dtype = parse_dtype(spec["dtype"])
    if cell is None or (cell.dtype.is_vector, cell.dim) != (dtype.is_vector, spec.get("dim", 1)):
        return None
    return converted(cell, dtype, wanted)


@st.composite
def queries(draw: st.DrawFn, schema: dict[str, dict[str, Any]]) -> tuple[RunRead, ...]:
    """Runs of any features in any order, of their own type or another."""
    runs = []
    for _ in range(draw(st.integers(1, 2))):
        names = tuple(draw(st.lists(st.sampled_from(list(schema)), min_size=1, max_size=4)))
        wanted = draw(TYPES).element
        if draw(st.booleans()):
            wanted = parse_dtype(schema[names[0]]["dtype"]).element
        names = tuple(n for n in names if default_of(schema[n], wanted) is not None)
        if names:
            widths = tuple(schema[name].get("dim", 1) for name in names)
            runs.append(RunRead(wanted, names, widths))
    return tuple(runs)


def write(draw: st.DrawFn, store: FeatureStore, schema: dict[str, Any], world: World) -> None:
    key = draw(st.sampled_from(KEYS))
    named = draw(st.lists(st.sampled_from(list(schema)), min_size=1, unique=True))
    values: dict[str, Any] = {}
    for name in named:
        dtype = parse_dtype(schema[name]["dtype"])
        values[name] = draw(st.none() | value_of(dtype, schema[name].get("dim", 1)))
    store.put("e", "g", [{"id": key, **values}])
    # What an obvious store would do: keep what the current schema can still read, then overlay.
    old = world.rows.get(key)
    cells: dict[str, Cell] = {}
    if old is not None and old.written + TTL_S > world.now:
        for name, spec in schema.items():
            dtype = parse_dtype(spec["dtype"])
            kept = expected(old.cells.get(name), spec, dtype.element)
            if kept is not None:
                value = kept[0].tolist() if dtype.is_vector else kept[0].tolist()[0]
                cells[name] = Cell(dtype, spec.get("dim", 1), value)
    for name, value in values.items():
        cells.pop(name, None)
        if value is not None:
            dtype = parse_dtype(schema[name]["dtype"])
            cells[name] = Cell(dtype, schema[name].get("dim", 1), value)
    world.rows[key] = Row(world.now, cells)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_rows_of_any_age_answer_any_query_as_plain_dicts_would(data: st.DataObject) -> None:
    world = World()
    backend = MemoryBackend()
    for _ in range(data.draw(st.integers(1, 4), "schemas")):
        spec = data.draw(features(), "features")
        group = {"g": {"ttl": TTL_S, "features": spec}}
        schema = parse_schema({"entities": {"e": {"keys": ["id"], "groups": group}}})
        store = FeatureStore(schema, backend, now=lambda: world.now)
        for _ in range(data.draw(st.integers(0, 4), "writes")):
            write(data.draw, store, spec, world)
            world.now += data.draw(st.sampled_from([0.0, 1.0, 60.0]), "seconds")
        runs = data.draw(queries(spec), "query")
        read = store.prepare(FeatureRead("e", ("id",), (GroupRead("g", runs),)))
        try:
            read.fetch((KEYS,), deadline=Deadline(None)).send(None)
        except StopIteration as finished:
            check(finished.value.groups[0], runs, spec, world)
