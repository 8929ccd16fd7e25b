"""From columns to keys: each distinct key once, nothing mistaken for another."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.components.feature import join_key
from inferflow.components.keys import KeyBatch, key_batch
from inferflow.dtypes import dtype_of
from inferflow.engine.matrix import Matrix
from inferflow.engine.ports import ReadState
from inferflow.plan.plan import Block, Column, KeySource


def batch(
    *parts: Any,
    rows: int | None = None,
    blank: dict[int, list[bool]] | None = None,
    states: dict[int, list[int]] | None = None,
    absent: dict[int, list[bool]] | None = None,
    has_default: bool = False,
) -> KeyBatch:
    """The keys of these columns; `blank`, `states` and `absent` are by number of the column."""
    arrays = [part if isinstance(part, np.ndarray) else np.array(part, object) for part in parts]
    count = rows or max(map(len, arrays))
    blocks = [Block(i, dtype_of(a), 1, "target", "fs") for i, a in enumerate(arrays)]
    matrix = Matrix(blocks, count)
    keys = []
    for i, array in enumerate(arrays):
        column = Column(f"c{i}", dtype_of(array), 1, i, 0, "target", "fs", has_default)
        matrix.put(
            i,
            array.reshape(-1, 1),
            invalid=np.array(blank[i]) if blank and i in blank else None,
            states=np.array(states[i], np.uint8) if states and i in states else None,
        )
        if absent and i in absent:
            matrix.mark_absent(column, np.array(absent[i]))
        keys.append(KeySource(f"k{i}", column))
    return key_batch(keys, matrix)


def spelled(found: KeyBatch, rows: int) -> list[tuple[str, ...] | None]:
    """The key of every row, spread back."""
    keys = list(zip(*found.columns, strict=True))
    spread = []
    for row in range(rows):
        if found.unusable is not None and found.unusable[row]:
            spread.append(None)
        elif found.inverse is not None:
            spread.append(keys[found.inverse[row]])
        else:
            spread.append(keys[row] if len(keys) > 1 else keys[0])
    return spread


def test_each_distinct_key_is_asked_for_once() -> None:
    found = batch(["b", "a", "b", "a"])
    assert found.count == 2
    assert sorted(found.columns[0]) == ["a", "b"]
    assert spelled(found, 4) == [("b",), ("a",), ("b",), ("a",)]


def test_one_id_for_all_rows_is_one_key() -> None:
    found = batch(["7"], rows=5)
    assert (found.count, found.columns, found.inverse) == (1, (["7"],), None)


def test_a_constant_part_is_joined_with_every_other() -> None:
    found = batch(["u"], ["1", "2", "1"])
    assert found.count == 2
    assert spelled(found, 3) == [("u", "1"), ("u", "2"), ("u", "1")]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        (np.array([7, 8, 7], np.int32), ["7", "8", "7"]),
        (np.array([7, 200], np.uint8), ["7", "200"]),
        (np.array([7.0, 0.5, -0.0, 0.0], np.float32), ["7", "0.5", "0", "0"]),
        (np.array([0.1, 16777216.0], np.float32), ["0.1", "16777216"]),
        (np.array([0.1, 1e21], np.float64), ["0.1", "1" + "0" * 21]),
        (np.array([0.1, 2.0], np.float16), ["0.099975586", "2"]),
        (np.array([2.0, 448.0], ml_dtypes.float8_e4m3fn), ["2", "448"]),
        (np.array([True, False]), ["true", "false"]),
        (np.array(["07", "7"], object), ["07", "7"]),
    ],
)
def test_a_value_has_one_key_text_whatever_its_type(values: Any, texts: list[str]) -> None:
    assert spelled(batch(values), len(texts)) == [(text,) for text in texts]


@pytest.mark.parametrize(
    "values",
    [
        np.array([1.0, np.nan, 2.0]),
        np.array([1.0, np.inf, 2.0], np.float32),
        np.array(["1", "", "2"], object),
    ],
)
def test_a_row_whose_value_is_no_key_is_unusable_alone(values: Any) -> None:
    found = batch(values)
    assert spelled(found, 3) == [("1",), None, ("2",)]
    assert found.count == 2


def test_a_constant_that_is_no_key_leaves_no_row_a_key() -> None:
    for parts in ([[""]], [[""], ["1", "2"]], [np.array([np.nan])]):
        found = batch(*parts, rows=2)
        assert found.count == 0
        assert found.unusable is not None
        assert found.unusable.tolist() == [True, True]


def test_blank_rows_have_no_key() -> None:
    found = batch(["1", "2", "3"], blank={0: [True, False, False]})
    assert spelled(found, 3) == [None, ("2",), ("3",)]


def test_a_single_row_with_a_key_among_many_without_is_asked_for() -> None:
    found = batch(["1", "2", "3"], ["u"], blank={0: [True, False, True]})
    assert spelled(found, 3) == [None, ("2", "u"), None]
    assert found.count == 1


def test_blank_rows_and_values_that_are_no_keys_add_up() -> None:
    found = batch(np.array([1.0, np.nan, 3.0, 4.0]), blank={0: [True, False, False, False]})
    assert spelled(found, 4) == [None, None, ("3",), ("4",)]


@pytest.mark.parametrize("state", [ReadState.MISSING, ReadState.EXPIRED, ReadState.FAILED])
def test_a_stand_in_nobody_declared_is_no_key(state: ReadState) -> None:
    states = {0: [0, int(state), 0]}
    found = batch(["1", "0", "3"], states=states)
    assert spelled(found, 3) == [("1",), None, ("3",)]
    declared = batch(["1", "0", "3"], states=states, has_default=True)
    assert spelled(declared, 3) == [("1",), ("0",), ("3",)]


def test_a_row_older_than_the_feature_has_no_key() -> None:
    found = batch(["1", "0"], absent={0: [False, True]})
    assert spelled(found, 2) == [("1",), None]


def test_one_missing_value_for_all_rows_is_no_key_for_any() -> None:
    found = batch(["0"], ["1", "2"], states={0: [int(ReadState.MISSING)]})
    assert found.count == 0


values = st.sampled_from(["a", "b", "a|b", "|", "\\", "a\\", "1", "1:", ":1", "é", "\x00"])


@given(st.integers(1, 8).flatmap(lambda n: st.lists(st.tuples(values, values), min_size=n)))
def test_composite_keys_come_back_as_they_were(rows: list[tuple[str, str]]) -> None:
    first, second = zip(*rows, strict=True)
    found = batch(list(first), list(second))
    assert spelled(found, len(rows)) == rows
    assert found.count == len(set(rows)) or len(rows) == 1


@given(st.lists(st.tuples(values, values), unique=True, min_size=2, max_size=6))
def test_joined_keys_never_look_alike(rows: list[tuple[str, str]]) -> None:
    assert len({join_key(row) for row in rows}) == len(rows)


numbers = st.sampled_from([0, 1, 2, 255, -1, 10**12])


@given(st.lists(st.tuples(numbers, st.sampled_from([0.0, -0.0, 0.5, 3.0, np.nan])), min_size=1))
def test_numbers_agree_with_one_row_at_a_time(rows: list[tuple[int, float]]) -> None:
    first = np.array([row[0] for row in rows], np.int64)
    second = np.array([row[1] for row in rows], np.float64)

    def text(value: float) -> str | None:
        return None if np.isnan(value) else str(int(value)) if value == int(value) else str(value)

    expected = [None if text(b) is None else (str(a), text(b)) for a, b in rows]
    found = batch(first, second)
    assert spelled(found, len(rows)) == expected
    assert len(set(zip(*found.columns, strict=True))) == found.count


@given(st.lists(st.text("ab", min_size=1, max_size=2), min_size=1, max_size=6), st.booleans())
def test_keys_of_a_request_are_the_keys_of_the_same_texts(ids: list[str], has_user: bool) -> None:
    blocks = [Block(i, None, None, "target", "init") for i in range(2)]
    known, plain = Matrix(blocks, len(ids)), Matrix(blocks, len(ids))
    known.put_keys(0, ids)
    plain.put(0, np.array(ids, object).reshape(-1, 1))
    known.put_keys(1, ["u"])
    plain.put(1, np.array([["u"]], object))
    columns = [Column(f"c{i}", None, None, i, 0, "target", "init") for i in range(2)]
    keys = [KeySource(column.name, column) for column in columns[: 1 + has_user]]
    found, wanted = key_batch(keys, known), key_batch(keys, plain)
    assert found.count == wanted.count
    assert spelled(found, len(ids)) == spelled(wanted, len(ids))
