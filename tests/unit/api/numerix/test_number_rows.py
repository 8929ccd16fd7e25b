"""Rows of numbers read and written in bulk, against protobuf doing the same one by one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow._proto.numbers import Score, number_rows, read_number_rows
from inferflow._proto.pool import message_class
from inferflow._proto.writing import tag
from inferflow.errors import InvalidInput

Data = message_class("numerix.ComputationScoreData")
F32 = np.dtype(np.float32)

ids = st.binary(max_size=4) | st.sampled_from([b"x" * 127, b"y" * 128, b"z" * 20_000])
numbers = st.floats(width=32, allow_nan=False)


@st.composite
def written_rows(draw: st.DrawFn) -> list[bytes]:
    """Rows as somebody may write them: short, long, in text, empty, or with more beside."""
    kinds = st.sampled_from(["full", "full", "full", "short", "long", "text", "empty", "twice"])
    rows = []
    for _ in range(draw(st.integers(1, 8))):
        kind = draw(kinds)
        cells = [draw(ids), *(np.float32(draw(numbers)).tobytes() for _ in range(3))]
        row = Score(byte_data={"values": cells[: 2 if kind == "short" else 4]})
        if kind == "long":
            row.byte_data.values.append(b"more")
        elif kind == "text":
            row = Score(string_data={"values": ["7", "1", "2", "3"]})
        elif kind == "empty":
            row = Score()
        body = row.SerializeToString()
        rows.append(body + body if kind == "twice" else body)
    return rows


@given(written_rows())
def test_rows_are_read_as_protobuf_reads_them(rows: list[bytes]) -> None:
    read = read_number_rows(rows, ["a", "b", "c"], F32)
    for place, row in enumerate(rows):
        values = list(Score.FromString(row).byte_data.values) or [b""]
        assert read.ids[place] == values[0]
        cells = b"".join(values[1:4]).ljust(12, b"\0")
        assert read.values[place].tobytes() == cells
    assert read.blank is None


@given(st.lists(ids, min_size=1, max_size=8), st.integers(0, 4), st.data())
def test_rows_are_written_as_protobuf_writes_them(
    names: list[bytes], columns: int, data: st.DataObject
) -> None:
    row = st.lists(numbers, min_size=columns, max_size=columns)
    values = np.array([data.draw(row) for _ in names], np.float32).reshape(len(names), columns)
    scores = [
        {"byte_data": {"values": [each, *(cell.tobytes() for cell in cells)]}}
        for each, cells in zip(names, values, strict=True)
    ]
    expected = Data(computation_scores=scores).SerializeToString()
    assert number_rows(tag(2), names, values) == expected


def test_a_blank_row_is_told_from_a_zero() -> None:
    blank = np.array([False, True, False])
    body = number_rows(tag(2), [b"1", b"2", b"3"], np.zeros((3, 1), np.float32), blank)
    rows = [row.SerializeToString() for row in Data.FromString(body).computation_scores]
    read = read_number_rows(rows, ["score"], F32, blanks=True)
    assert read.blank is not None
    assert read.blank[:, 0].tolist() == [False, True, False]
    assert read.ids == [b"1", b"2", b"3"]
    with pytest.raises(InvalidInput, match="row 1, column 'score': 0 bytes"):
        read_number_rows(rows, ["score"], F32)
