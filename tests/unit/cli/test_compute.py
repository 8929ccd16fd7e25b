"""`inferflow compute eval`"""

from __future__ import annotations

import json

import pytest

from .conftest import Run


def values(run: Run, *arguments: str) -> list[float | None]:
    found: list[float | None] = json.loads(run("compute", "eval", *arguments, "--json").stdout)[
        "values"
    ]
    return found


def test_an_expression_is_evaluated_row_by_row(run: Run) -> None:
    text = run("compute", "eval", "0.7*a + 0.3*b", "a=1,2", "b=3,4").stdout
    assert text.splitlines()[0].split() == ["a", "b", "result"]
    assert [line.split() for line in text.splitlines()[1:3]] == [
        ["1", "3", "1.6"],
        ["2", "4", "2.6"],
    ]
    assert "compiled: 0.7 a * 0.3 b * +" in text


def test_one_value_stands_for_all_rows(run: Run) -> None:
    assert values(run, "a * b", "a=1,2,3", "b=2", "--precision", "fp64") == [2, 4, 6]


def test_constants_need_no_columns(run: Run) -> None:
    assert values(run, "1 + 2") == [3]


def test_postfix_is_read_as_such(run: Run) -> None:
    assert values(run, "a b +", "a=1", "b=2", "--postfix") == [3]
    assert values(run, "a b +", "a=1", "b=2") == [3]


def test_precision_is_what_is_asked_for(run: Run) -> None:
    assert values(run, "a + 0", "a=0.1", "--precision", "fp64") == [0.1]
    assert values(run, "a + 0", "a=0.1") == [pytest.approx(0.1)]
    assert values(run, "a + 0", "a=0.1") != [0.1]


def test_a_row_without_an_answer_says_why(run: Run) -> None:
    assert "division by zero" in run("compute", "eval", "1 / a", "a=0,1").stdout
    assert values(run, "1 / a", "a=0,1") == [None, 1]
    assert "division by zero" in run("compute", "eval", "1 / a", "a=0,1", "--strict", code=1).stderr


def test_texts_and_vectors_are_columns_too(run: Run) -> None:
    assert values(run, "diversity(s, c, 0.5)", "s=3,2,1", "c=x,x,y")[0] == 1
    assert values(run, "diversity(s, e, 0.5)", "s=3,2,1", "e=1:0,1:0,0:1")[0] == 1


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (["a +"], "error: "),
        (["a + b", "a=1"], "the expression reads b"),
        (["a", "a=1", "b=2"], "does not read 'b'"),
        (["a + b", "a=1,2", "b=1,2,3"], "error: "),
        (["a", "a=1:x"], "vectors of numbers"),
    ],
)
def test_mistakes_are_told(run: Run, arguments: list[str], what: str) -> None:
    assert what in run("compute", "eval", *arguments, code=1).stderr


def test_a_column_given_twice_is_refused(run: Run) -> None:
    assert "'a' is given twice" in run("compute", "eval", "a", "a=1", "a=2", code=2).stderr
