"""Packed rows: every type goes in and comes out bit for bit."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.dtypes import DTYPES, Array, DType
from inferflow.errors import StoreFailed
from inferflow.featurestore.layout import Layout, StoredFeature, lay_out, row_dtype
from inferflow.featurestore.rowcodec import (
    NEVER,
    carried_key,
    carries_key,
    carrying_key,
    elements,
    encode_rows,
    given_of,
    join_fixed,
    version_of,
)

TEXT = st.text(max_size=8)
TYPES = st.sampled_from(list(DTYPES.values()))


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    dtypes = draw(st.lists(TYPES, min_size=1, max_size=8))
    return lay_out(
        tuple(
            StoredFeature(f"f{at}", dtype, draw(st.integers(1, 11)) if dtype.is_vector else 1)
            for at, dtype in enumerate(dtypes)
        )
    )


def random_elements(draw: st.DrawFn, element: DType, rows: int, width: int) -> Array:
    """Any bit pattern there is: NaN payloads, infinities and subnormal numbers included."""
    if element.is_text:
        out = np.empty((rows, width), object)
        for at in np.ndindex(rows, width):
            out[at] = draw(TEXT)
        return out
    size = rows * width * element.size
    raw = draw(st.binary(min_size=size, max_size=size))
    if element.is_bool:
        return (np.frombuffer(raw, np.uint8) & 1).astype(np.bool_).reshape(rows, width)
    return np.frombuffer(raw, element.numpy).reshape(rows, width)


def same_bits(left: Array, right: Array) -> bool:
    if left.dtype == object:
        return bool(left.tolist() == right.tolist())
    return left.dtype == right.dtype and left.tobytes() == right.tobytes()


def table_of(layout: Layout, rows: list[bytes]) -> Array:
    return np.frombuffer(join_fixed(layout, rows), row_dtype(layout.fields, layout.size))


@given(layouts(), st.integers(1, 5), st.booleans(), st.data())
def test_every_type_survives_bit_for_bit(
    layout: Layout, count: int, is_complete: bool, data: st.DataObject
) -> None:
    runs = [random_elements(data.draw, run.element, count, run.width) for run in layout.runs]
    flags = st.lists(st.booleans(), min_size=len(layout.features), max_size=len(layout.features))
    given_bits = None if is_complete else np.array([data.draw(flags) for _ in range(count)])
    rows = encode_rows(layout, 3, runs, given=given_bits, written_ms=5, expires_ms=NEVER)
    table = table_of(layout, rows)
    for number, (run, values) in enumerate(zip(layout.runs, runs, strict=True)):
        assert same_bits(elements(layout, number, slice(0, run.width), table, rows), values)
        odd = np.arange(run.width)[::2]
        assert same_bits(elements(layout, number, odd, table, rows), values[:, odd])
    expected = np.ones((count, len(layout.features)), bool) if given_bits is None else given_bits
    assert given_of(layout, table).tolist() == expected.tolist()
    assert table["written"].tolist() == [5] * count
    assert table["expires"].tolist() == [NEVER] * count
    assert [version_of(row) for row in rows] == [3] * count


@given(layouts(), st.binary(min_size=1), st.data())
def test_a_key_carried_after_the_row_is_found_and_changes_nothing_else(
    layout: Layout, key: bytes, data: st.DataObject
) -> None:
    runs = [random_elements(data.draw, run.element, 1, run.width) for run in layout.runs]
    (row,) = encode_rows(layout, 1, runs, given=None, written_ms=1, expires_ms=2)
    carrying = carrying_key(row, key)
    assert not carries_key(row)
    assert carries_key(carrying)
    assert carried_key(layout, carrying) == key
    assert version_of(carrying) == 1
    for number, (run, values) in enumerate(zip(layout.runs, runs, strict=True)):
        columns = slice(0, run.width)
        table = table_of(layout, [carrying])
        assert same_bits(elements(layout, number, columns, table, [carrying]), values)


@given(layouts())
def test_every_run_is_aligned_and_no_two_overlap(layout: Layout) -> None:
    spans = []
    for number, run in enumerate(layout.runs):
        _, offset = layout.fields[f"run{number}"]
        assert offset % run.stored.itemsize == 0
        spans.append((offset, offset + run.items * run.stored.itemsize))
    spans.append((layout.fields["given"][1], layout.size))
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(spans))
    assert layout.size % 8 == 0


@given(layouts())
def test_features_of_one_element_type_lie_side_by_side_in_schema_order(layout: Layout) -> None:
    for number, run in enumerate(layout.runs):
        mine = [f for f in layout.features if f.dtype.element is run.element]
        assert list(run.features) == mine
        at = 0
        for feature in mine:
            place = layout.places[feature.name]
            assert (place.run, place.start, place.stop) == (number, at, at + feature.dim)
            at += feature.dim


def test_bools_take_one_bit_each() -> None:
    bools = tuple(StoredFeature(f"b{at}", DTYPES[30], 64) for at in range(2))
    floats = (StoredFeature("x", DTYPES[4], 1),)
    assert lay_out(bools + floats).size - lay_out(floats).size == 16


def test_a_row_that_was_cut_off_is_noticed() -> None:
    layout = lay_out((StoredFeature("x", DTYPES[5], 1),))
    (row,) = encode_rows(layout, 1, [np.ones((1, 1))], given=None, written_ms=1, expires_ms=2)
    with pytest.raises(StoreFailed, match="damaged"):
        join_fixed(layout, [row, row[:-1]])
