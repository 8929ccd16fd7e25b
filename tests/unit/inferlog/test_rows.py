"""Rows of the proto format, byte for byte."""

from __future__ import annotations

import numpy as np
from hypothesis import given

from inferflow.dtypes import FP32, INT32, STRING
from inferflow.inferlog.rows import row_layout

from ...robustness.scenario import StartScenario
from .matrices import Filled, filled_matrices, slow_row


def rows_of(filled: Filled) -> list[bytes]:
    rows = row_layout(filled.placed, "target").encode(filled.matrix())
    return [bytes(row) for row in rows]


def texts(*values: str) -> np.ndarray:
    block = np.empty((len(values), 1), object)
    block[:, 0] = values
    return block


def test_a_row_has_a_flag_then_its_values_and_lengths_where_they_vary() -> None:
    filled = Filled(1)
    filled.add([INT32], np.array([[7]], np.int32), [1], None)
    filled.add([FP32], np.array([[0.5]], np.float32), [1], None)
    filled.add([FP32.vector], np.array([[1, 2]], np.float32), [2], None)
    filled.add([STRING], texts(""), [1], np.array([True]))
    expected = "00 07000000 0000003f 0800 0000803f00000040 0300 302e30"
    assert rows_of(filled) == [bytes.fromhex(expected)]


def test_a_row_that_lacks_nothing_says_so() -> None:
    filled = Filled(2)
    filled.add([STRING], texts("ab", "ü"), [1], None)
    assert rows_of(filled) == [b"\x01\x02\x00ab", b"\x01\x02\x00\xc3\xbc"]


def test_a_text_too_long_for_its_length_counts_as_missing_and_spoils_no_other_row() -> None:
    filled = Filled(2)
    filled.add([STRING], texts("x" * 65_536, "y"), [1], None)
    assert rows_of(filled) == [b"\x00\x03\x000.0", b"\x01\x01\x00y"]


def test_rows_of_fixed_length_are_one_array() -> None:
    filled = Filled(3)
    filled.add([FP32, FP32], np.ones((1, 2), np.float32), [1, 1], None)
    rows = row_layout(filled.placed, "target").encode(filled.matrix())
    assert isinstance(rows, np.ndarray)
    assert rows.shape == (3, 9)


def test_columns_side_by_side_are_moved_together() -> None:
    filled = Filled(1)
    filled.add([FP32] * 40, np.ones((1, 40), np.float32), [1] * 40, None)
    assert len(row_layout(filled.placed, "target").moves) == 1


@given(filled=filled_matrices())
def test_rows_are_those_of_the_obvious_encoder(scenario: StartScenario, filled: Filled) -> None:
    tried = scenario("E6", "random tables, written as rows")
    is_same = rows_of(filled) == [slow_row(filled, row) for row in range(filled.rows)]
    tried.holds("bit for bit as the obvious encoder", "equal", is_same)
