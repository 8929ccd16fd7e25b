"""Answers as JSON, checked against a version that looks at one cell at a time."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import orjson
from hypothesis import given
from hypothesis import strategies as st

from inferflow.api.gateway.score_json import answer, written
from inferflow.dtypes import FP32, FP64, INT32, STRING
from inferflow.scores import ScoreColumn, Scores, Table

NUMBERS = st.floats(width=32) | st.sampled_from([math.nan, math.inf, -math.inf])


@st.composite
def tables(draw: st.DrawFn, rows: int) -> Table:
    columns: dict[str, ScoreColumn] = {}
    for number in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(["f32", "f64", "int", "text", "vector"]))
        name = f"c{number}"
        if kind == "text":
            texts = draw(st.lists(st.text(max_size=3), min_size=rows, max_size=rows))
            values = np.array([*texts, None], dtype=object)[:-1]
            columns[name] = ScoreColumn(name, STRING, values)
        elif kind == "int":
            ints = draw(st.lists(st.integers(-9, 9), min_size=rows, max_size=rows))
            columns[name] = ScoreColumn(name, INT32, np.array(ints, np.int32))
        elif kind == "vector":
            wide = draw(st.lists(NUMBERS, min_size=rows * 2, max_size=rows * 2))
            values = np.array(wide, np.float32).reshape(rows, 2)
            columns[name] = ScoreColumn(name, FP32.vector, values)
        else:
            plain = draw(st.lists(NUMBERS, min_size=rows, max_size=rows))
            dtype, form = (FP32, np.float32) if kind == "f32" else (FP64, np.float64)
            columns[name] = ScoreColumn(name, dtype, np.array(plain, form))
        if draw(st.booleans()):
            blank = draw(st.lists(st.booleans(), min_size=rows, max_size=rows))
            columns[name].blank = np.array(blank, bool)
    errors = draw(st.lists(st.sampled_from(["", "late"]), min_size=rows, max_size=rows))
    return Table(columns, errors)


@st.composite
def answers(draw: st.DrawFn) -> Scores:
    rows = draw(st.integers(1, 4))
    ids = [str(row) for row in range(rows)]
    grouping = draw(st.sampled_from([None, "pairs", "slates"]))
    scores = Scores("r", ids, draw(tables(rows)), config_version="v")
    if grouping is not None:
        width = 2 if grouping == "pairs" else draw(st.integers(1, 3))
        count = draw(st.integers(1, 3))
        members = st.lists(st.integers(0, rows - 1), min_size=width, max_size=width)
        scores.grouping = grouping
        scores.members = draw(st.lists(members, min_size=count, max_size=count))
        scores.groups = draw(tables(count))
    return scores


def cell(column: ScoreColumn, row: int) -> Any:
    if column.blank is not None and column.blank[row]:
        return None
    value = column.values[row]
    return [said(each) for each in value] if value_is_many(value) else said(value)


def value_is_many(value: Any) -> bool:
    return isinstance(value, np.ndarray)


def said(value: Any) -> Any:
    if isinstance(value, str):
        return value
    if math.isfinite(value):
        return float(str(value)) if isinstance(value, np.floating) else value.item()
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def rows_of(table: Table, count: int) -> list[dict[str, Any]]:
    return [
        {name: cell(column, row) for name, column in table.columns.items()} for row in range(count)
    ]


@given(answers())
def test_an_answer_by_columns_is_the_answer_by_cells(scores: Scores) -> None:
    told = answer(scores, "t")
    assert orjson.loads(written(scores, "t")) == told
    if "targets" in told:
        assert [each["scores"] for each in told["targets"]] == rows_of(
            scores.targets, len(scores.ids)
        )
        ranks = {each["rank"]: at for at, each in enumerate(told["targets"])}
        assert [ranks[rank] for rank in sorted(ranks)] == scores.ranked()
    if scores.groups is not None and scores.grouping is not None:
        grouped = told[scores.grouping]
        assert [each["scores"] for each in grouped] == rows_of(scores.groups, len(scores.members))
        assert [each["index"] for each in grouped] == list(range(len(scores.members)))


def test_what_failed_a_whole_request_is_told_once() -> None:
    scores = Scores("r", ["1", "2"], Table({}, ["no model", "no model"]))
    told = answer(scores, "")
    assert told["request_error"] == "no model"
    assert [each["scores"] for each in told["targets"]] == [{}, {}]


def test_a_number_is_told_by_the_shortest_text_that_is_the_same_number() -> None:
    values = np.array([41.02, 0.1, 1e-30], np.float32)
    table = Table({"c": ScoreColumn("c", FP32, values)}, [""] * 3)
    text = written(Scores("r", ["1", "2", "3"], table), "").decode()
    assert [f'{{"c":{told}}}' in text for told in ("41.02", "0.1", "1e-30")] == [True] * 3
