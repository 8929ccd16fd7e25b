"""The matrix takes each planned block once, in the shape that was planned."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inferflow.dtypes import FP32, STRING
from inferflow.engine.matrix import Matrix, merged
from inferflow.errors import EngineFault
from inferflow.plan.plan import Block, Column

WIDE = Block(0, FP32, 3, "target", "fs")
SLATE = Block(1, FP32, 1, "slate", "sm")
FREE = Block(2, None, None, "target", "feature_initializer")


@pytest.fixture
def matrix() -> Matrix:
    return Matrix([WIDE, SLATE, FREE], rows=4, slates=2)


def ones(*shape: int) -> Any:
    return np.ones(shape, np.float32)


def test_a_block_is_written_once(matrix: Matrix) -> None:
    matrix.put(0, ones(4, 3))
    with pytest.raises(EngineFault, match="'fs' is written twice"):
        matrix.put(0, ones(4, 3))


def test_a_block_is_not_read_before_it_is_written(matrix: Matrix) -> None:
    assert not matrix.is_filled(0)
    with pytest.raises(EngineFault, match="read before it is written"):
        matrix.block(0)


@pytest.mark.parametrize("shape", [(3, 3), (5, 3), (0, 3), (4,), (4, 3, 1)])
def test_rows_that_do_not_line_up_are_refused(matrix: Matrix, shape: tuple[int, ...]) -> None:
    with pytest.raises(EngineFault, match="4 row"):
        matrix.put(0, ones(*shape))
    assert not matrix.is_filled(0)


def test_a_slate_block_has_a_row_per_slate(matrix: Matrix) -> None:
    with pytest.raises(EngineFault, match="2 row"):
        matrix.put(1, ones(4, 1))
    matrix.put(1, ones(2, 1))
    assert matrix.count("slate") == 2
    assert matrix.count("target") == 4


def test_values_of_another_width_than_planned_are_refused(matrix: Matrix) -> None:
    with pytest.raises(EngineFault, match=r"2 value\(s\) per row, planned 3"):
        matrix.put(0, ones(4, 2))


def test_values_of_another_type_than_planned_are_refused(matrix: Matrix) -> None:
    with pytest.raises(EngineFault, match="wrote float64 where FP32 was planned"):
        matrix.put(0, np.ones((4, 3), np.float64))
    matrix.put(2, np.ones((4, 3), np.float64))


def test_one_row_stands_for_all(matrix: Matrix) -> None:
    matrix.put(0, ones(1, 3))
    assert matrix.block(0).shape == (1, 3)


def test_a_block_of_free_width_takes_what_comes(matrix: Matrix) -> None:
    matrix.put(2, ones(4, 7))
    column = Column("v", None, None, 2, 0, "target", "feature_initializer")
    assert matrix.column(column).shape == (4, 7)


def test_columns_are_stretches_of_a_block(matrix: Matrix) -> None:
    matrix.put(0, np.arange(12, dtype=np.float32).reshape(4, 3))
    scalar = Column("a", FP32, 1, 0, 0, "target", "fs")
    vector = Column("v", FP32.vector, 2, 0, 1, "target", "fs")
    assert matrix.column(scalar).tolist() == [0, 3, 6, 9]
    assert matrix.column(vector).tolist() == [[1, 2], [4, 5], [7, 8], [10, 11]]


def test_a_mask_that_marks_nothing_is_no_mask(matrix: Matrix) -> None:
    matrix.put(0, ones(4, 3), invalid=np.zeros(4, bool))
    assert matrix.invalid(0) is None
    assert not matrix.has_blanks


def test_a_mask_of_another_length_is_refused(matrix: Matrix) -> None:
    with pytest.raises(EngineFault, match="marked 3 row"):
        matrix.put(0, ones(4, 3), invalid=np.ones(3, bool))


def test_a_column_the_request_brought_has_no_blanks(matrix: Matrix) -> None:
    matrix.put(0, ones(4, 3), invalid=np.ones(4, bool))
    pinned = Column("a", FP32, 1, 0, 0, "target", "fs")
    other = Column("b", FP32, 1, 0, 1, "target", "fs")
    matrix.pin(pinned)
    assert matrix.blank(pinned) is None
    blank = matrix.blank(other)
    assert blank is not None
    assert blank.all()


def test_masks_are_joined_and_one_row_spreads() -> None:
    assert merged([None, None], 3) is None
    joined = merged([np.array([True, False, False]), None, np.array([False])], 3)
    assert joined is not None
    assert joined.tolist() == [True, False, False]


def test_absence_is_remembered_per_column(matrix: Matrix) -> None:
    column = Column("a", STRING, 1, 0, 0, "target", "fs")
    other = Column("b", STRING, 1, 0, 1, "target", "fs")
    matrix.put(0, ones(4, 3))
    matrix.mark_absent(column, np.array([True, False, False, False]))
    absent = matrix.absent(column)
    assert absent is not None
    assert absent.tolist() == [True, False, False, False]
    assert matrix.absent(other) is None


IDS = Column("id", None, None, 2, 0, "target", "feature_initializer")


def test_keys_are_handed_back_as_they_came_and_read_like_any_column(matrix: Matrix) -> None:
    texts = ["a", "b", "c", "d"]
    matrix.put_keys(2, texts)
    assert matrix.is_filled(2)
    assert matrix.keys(IDS) is texts
    assert matrix.column(IDS).tolist() == texts
    assert matrix.block(2).shape == (4, 1)


def test_a_column_that_was_not_filled_with_keys_has_none(matrix: Matrix) -> None:
    assert matrix.keys(IDS) is None
    matrix.put(2, ones(4, 1))
    assert matrix.keys(IDS) is None


@pytest.mark.parametrize("again", ["keys", "values"])
def test_keys_are_written_once(matrix: Matrix, again: str) -> None:
    matrix.put_keys(2, ["7"])
    with pytest.raises(EngineFault, match="written twice"):
        matrix.put_keys(2, ["7"]) if again == "keys" else matrix.put(2, ones(4, 1))


def test_as_many_keys_as_rows_are_wanted_or_one(matrix: Matrix) -> None:
    with pytest.raises(EngineFault, match=r"where 4 row\(s\) were planned"):
        matrix.put_keys(2, ["a", "b"])
    assert not matrix.is_filled(2)
