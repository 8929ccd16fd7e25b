"""Answers read back are the scores they were written from."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow._proto import messages
from inferflow._proto.writing import tag
from inferflow.api.score_rows import row_bytes, schema_bytes
from inferflow.client.incoming import incoming
from inferflow.client.outgoing import Outgoing
from inferflow.dtypes import DTYPES, STRING
from inferflow.errors import RemoteFailed
from inferflow.scores import ScoreColumn, Scores, Table

ROWS = 4
POINT = Outgoing("InferPointWise", b"", ["a", "b", "c", "d"])


def read(body: bytes, **trailing: str) -> Scores:
    return incoming("c", POINT, body, trailing)


@st.composite
def columns(draw: st.DrawFn, name: str) -> ScoreColumn:
    dtype = draw(st.sampled_from([*DTYPES.values()]))
    shape = (ROWS, draw(st.sampled_from([1, 3]))) if dtype.is_vector else (ROWS,)
    size = int(np.prod(shape))
    if dtype.is_text:
        values = np.empty(shape, object)
        values.reshape(-1)[:] = [draw(st.text(min_size=1, max_size=4)) for _ in range(size)]
    else:
        raw = draw(st.binary(min_size=size * dtype.size, max_size=size * dtype.size))
        raw = bytes(byte & 1 for byte in raw) if dtype.is_bool else raw
        values = np.frombuffer(raw, dtype.numpy).reshape(shape)
    masks = st.lists(st.booleans(), min_size=ROWS, max_size=ROWS).map(np.array)
    return ScoreColumn(name, dtype, values, draw(st.none() | masks))


@st.composite
def tables(draw: st.DrawFn) -> Table:
    named = {name: draw(columns(name)) for name in "xyz"[: draw(st.integers(1, 3))]}
    blank = np.zeros(ROWS, bool)
    for column in named.values():
        blank |= False if column.blank is None else column.blank
    spoilt = blank | draw(st.booleans())
    return Table(named, ["went wrong" if each else "" for each in spoilt])


@given(tables())
def test_a_table_comes_out_as_it_went_in(table: Table) -> None:
    found = read(schema_bytes(table, tag(1)) + row_bytes(table, tag(2))).targets
    assert list(found.errors) == list(table.errors)
    assert list(found.columns) == list(table.columns)
    for name, column in table.columns.items():
        got = found.columns[name]
        assert got.dtype is column.dtype
        assert got.values.dtype == column.values.dtype
        assert got.values.shape == column.values.shape
        full = np.zeros(ROWS, bool) if column.blank is None else column.blank
        assert (np.zeros(ROWS, bool) if got.blank is None else got.blank).tolist() == full.tolist()
        kept, expected = got.values[~full], column.values[~full]
        same = kept.tolist() == expected.tolist() if column.dtype.is_text else None
        assert same if same is not None else kept.tobytes() == expected.tobytes()


def test_an_empty_text_is_a_value_unless_its_row_has_an_error() -> None:
    answer = messages.PointWiseResponse()
    answer.target_output_schema.add(name="t", data_type=STRING.code)
    for error in ("", "no title", "", ""):
        answer.target_scores.add(error=error, output_values=[b""])
    assert read(answer.SerializeToString()).to_dict()["columns"]["t"] == ["", None, "", ""]


def test_headers_say_which_config_answered() -> None:
    scores = incoming(
        "c", POINT, b"", {"x-inferflow-config-version": "v1", "x-inferflow-arm": "left"}
    )
    assert (scores.config_id, scores.config_version, scores.arm) == ("c", "v1", "left")
    assert list(scores.ids) == ["a", "b", "c", "d"]


def test_an_answer_without_rows_has_its_error_on_every_row() -> None:
    answer = messages.PointWiseResponse(request_error="all is lost")
    assert list(read(answer.SerializeToString()).errors) == ["all is lost"] * ROWS


def _schema(code: int = 4, dim: int = 0) -> Any:
    answer = messages.PointWiseResponse()
    answer.target_output_schema.add(name="x", data_type=code, vector_dim=dim)
    return answer


def _rows(answer: Any, *values: Any) -> bytes:
    for each in values:
        answer.target_scores.add(output_values=each)
    body: bytes = answer.SerializeToString()
    return body


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"\xff\xff", "no answer"),
        (_rows(_schema()), "no rows"),
        (_rows(_schema(), [b"1234"]), "1 rows, where 4"),
        (_rows(_schema(), [b"1234"], [b"1234"], [], [b"1234"]), "row 2 has 0 values"),
        (_rows(_schema(), *[[b"123"]] * 4), "column 'x', row 0: 3 bytes"),
        (_rows(_schema(99), *[[b"1234"]] * 4), "99 is not a data type"),
        (_rows(_schema(19, -1), *[[b"1234"]] * 4), "column 'x'"),
    ],
)
def test_what_is_no_answer_is_the_servers_failure(body: bytes, what: str) -> None:
    with pytest.raises(RemoteFailed, match=what):
        read(body)


@given(st.binary(max_size=200))
def test_any_bytes_are_scores_or_the_servers_failure(body: bytes) -> None:
    with suppress(RemoteFailed):
        assert len(read(body)) == ROWS


def test_a_vector_whose_length_is_not_announced_has_the_length_of_its_bytes() -> None:
    one = np.array([1, 2], "<f4").tobytes()
    scores = read(_rows(_schema(19), [one], [b""], [one], [one]))
    assert scores.to_dict()["columns"]["x"] == [[1.0, 2.0], None, [1.0, 2.0], [1.0, 2.0]]
