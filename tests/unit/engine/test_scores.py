"""An answer: its columns, its order, its blanks, and what it turns into."""

from __future__ import annotations

import json
import math
from typing import Any

import ml_dtypes
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.dtypes import BOOL, FP8E4M3, FP16, FP32, FP64, INT32, STRING, DType
from inferflow.errors import InvalidInput, NotFound
from inferflow.scores import ScoreColumn, Scores, Table


def column(name: str, dtype: DType, values: Any, blank: list[bool] | None = None) -> ScoreColumn:
    array = np.array(values, dtype.numpy)
    return ScoreColumn(name, dtype, array, None if blank is None else np.array(blank))


def scores(*columns: ScoreColumn, **more: Any) -> Scores:
    rows = len(columns[0].values)
    errors = more.pop("errors", [""] * rows)
    ids = [f"p{i}" for i in range(rows)]
    return Scores("ranker", ids, Table({c.name: c for c in columns}, errors), **more)


# --- order --------------------------------------------------------------------------------------


def test_the_best_come_first_and_equals_keep_their_order() -> None:
    assert scores(column("s", FP32, [1, 3, 2, 3])).ranked() == [1, 3, 2, 0]


def test_rows_without_a_value_come_last_even_behind_the_worst() -> None:
    worst = -math.inf
    found = scores(
        column("s", FP32, [9, math.nan, worst, 1, math.inf], [True, False, False, False, False])
    )
    assert found.ranked() == [4, 3, 2, 0, 1]


def test_the_last_number_is_the_score_unless_one_is_named() -> None:
    found = scores(
        column("a", FP32, [1, 2]),
        column("b", INT32, [2, 1]),
        column("name", STRING, ["x", "y"]),
        column("v", FP32.vector, [[1, 1], [2, 2]]),
    )
    assert found.ranked() == [0, 1]
    assert found.ranked("a") == [1, 0]
    assert scores(column("name", STRING, ["x", "y"])).ranked() == [0, 1]


def test_a_ranking_needs_a_column_of_numbers() -> None:
    found = scores(column("name", STRING, ["x"]), column("v", FP32.vector, [[1.0, 2.0]]))
    with pytest.raises(NotFound, match="'nme'"):
        found.ranked("nme")
    for name in ("name", "v"):
        with pytest.raises(InvalidInput, match=f"'{name}' is"):
            found.ranked(name)


@given(
    st.lists(
        st.tuples(st.sampled_from([0.0, 1.0, -1.0, math.inf, -math.inf, math.nan]), st.booleans()),
        min_size=1,
        max_size=8,
    )
)
def test_ranking_agrees_with_sorting_one_by_one(rows: list[tuple[float, bool]]) -> None:
    found = scores(column("s", FP64, [v for v, _ in rows], [b for _, b in rows]))

    def place(row: int) -> tuple[bool, float, int]:
        value, is_blank = rows[row]
        has_none = is_blank or math.isnan(value)
        return has_none, 0.0 if has_none else -value, row

    assert found.ranked() == sorted(range(len(rows)), key=place)


# --- reading ------------------------------------------------------------------------------------


def test_blank_floats_read_as_nan_and_the_answer_stays_as_it_is() -> None:
    found = scores(column("s", FP32, [1, 2], [False, True]))
    assert found["s"].tolist()[0] == 1
    assert math.isnan(found["s"][1])
    assert found.targets.columns["s"].values.tolist() == [1, 2]


def test_other_blanks_are_masked() -> None:
    found = scores(
        column("n", INT32, [1, 2], [False, True]),
        column("t", STRING, ["a", "b"], [True, False]),
        column("v", INT32.vector, [[1, 2], [3, 4]], [False, True]),
    )
    assert found["n"].tolist() == [1, None]
    assert found["t"].tolist() == [None, "b"]
    assert found["v"].tolist() == [[1, 2], [None, None]]


def test_columns_without_blanks_are_handed_over_uncopied() -> None:
    found = scores(column("s", FP32, [1, 2]))
    assert found["s"] is found.targets.columns["s"].values
    assert list(found.columns) == ["s"]


def test_a_column_that_is_not_there_is_named_with_the_nearest_one() -> None:
    with pytest.raises(NotFound, match=r"no column 'pick:scor'; did you mean 'pick:score'\?"):
        scores(column("pick:score", FP32, [1]))["pick:scor"]


def test_groups_are_read_by_name_too() -> None:
    pairs = Table({"p": column("p", FP32, [5])}, ["odd"])
    found = scores(column("s", FP32, [1, 2]), groups=pairs, grouping="pairs", members=[[0, 1]])
    assert found["p"].tolist() == [5]
    assert found.pairs is pairs
    assert found.slates is None
    assert len(found) == 2


# --- turning into something else ----------------------------------------------------------------

EVERY = [
    column("f", FP32, [0.5, 1.5], [False, True]),
    column("i", INT32, [1, 2]),
    column("b", BOOL, [True, False], [True, False]),
    column("t", STRING, ["x", "y"]),
    column("v", FP16.vector, [[1, 2], [3, 4]], [False, True]),
    ScoreColumn("q", FP8E4M3, np.array([0.5, 448], ml_dtypes.float8_e4m3fn)),
]


def test_plain_values_are_ready_for_json() -> None:
    found = scores(
        *EVERY,
        errors=["", "m: broke"],
        config_version="abc",
        groups=Table({"p": column("p", FP32, [5], [True])}, ["odd"]),
        grouping="slates",
        members=[[0, 1]],
    )
    answer = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert answer == {
        "model_config_id": "ranker",
        "config_version": "abc",
        "ids": ["p0", "p1"],
        "columns": {
            "f": [0.5, None],
            "i": [1, 2],
            "b": [None, False],
            "t": ["x", "y"],
            "v": [[1.0, 2.0], None],
            "q": [0.5, 448.0],
        },
        "errors": ["", "m: broke"],
        "slates": {"members": [[0, 1]], "columns": {"p": [None]}, "errors": ["odd"]},
    }


def test_a_frame_is_indexed_by_id() -> None:
    frame = scores(*EVERY, errors=["", "m: broke"]).to_pandas()
    assert frame.index.tolist() == ["p0", "p1"]
    assert frame.index.name == "id"
    assert list(frame.columns) == ["f", "i", "b", "t", "v", "q", "error"]
    assert frame["i"].tolist() == [1, 2]
    assert pd.isna(frame.loc["p1", "f"])
    assert frame.loc["p1", "error"] == "m: broke"


def test_an_arrow_table_keeps_every_type_and_every_blank() -> None:
    table = scores(*EVERY, errors=["", "m: broke"]).to_arrow()
    assert table.schema == pa.schema(
        {
            "id": pa.string(),
            "f": pa.float32(),
            "i": pa.int32(),
            "b": pa.bool_(),
            "t": pa.string(),
            "v": pa.list_(pa.float16()),
            "q": pa.float32(),
            "error": pa.string(),
        }
    )
    assert table["f"].to_pylist() == [0.5, None]
    assert table["v"].to_pylist() == [[1.0, 2.0], None]
    assert table["id"].to_pylist() == ["p0", "p1"]


def test_an_arrow_table_of_blanks_has_the_schema_of_any_other() -> None:
    all_blank = scores(column("f", FP32, [0, 0], [True, True])).to_arrow()
    none_blank = scores(column("f", FP32, [0, 0])).to_arrow()
    assert all_blank.schema == none_blank.schema
    assert all_blank["f"].null_count == 2


def test_scores_not_made_here_cannot_be_explained() -> None:
    with pytest.raises(InvalidInput, match="nobody who could explain"):
        scores(column("f", FP32, [0])).explain()
