"""Columns in, one value per row out: shapes, types, marks, strictness."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from inferflow.compute import FUNCTIONS, compile_expression
from inferflow.dtypes import FP16, FP32, FP64
from inferflow.errors import ComputeFailed, InvalidInput


def test_a_column_of_one_stands_for_every_row(evaluate):
    answer = evaluate("a * b", {"a": [1.0, 2.0, 3.0], "b": [10.0]})
    assert answer.values.tolist() == [10, 20, 30]
    assert answer.invalid is None
    assert answer.reason == ""


@pytest.mark.parametrize("text", ["2", "a", "a + 1", "mean(a)", "if(a > 1, 2, 3)"])
def test_a_result_that_is_the_same_for_all_rows_is_spread_over_them(evaluate, text):
    answer = evaluate(text, {"a": [2.0]}, rows=3)
    assert answer.values.tolist() == [answer.values[0]] * 3


def test_fp32_computes_every_operator_in_float32(evaluate):
    columns = {"a": np.array([16777216.0]), "b": np.array([0.1])}
    single = evaluate("a + 1 - a", columns, precision=FP32).values
    double = evaluate("a + 1 - a", columns, precision=FP64).values
    assert (single.dtype, single.tolist()) == (np.float32, [0.0])
    assert (double.dtype, double.tolist()) == (np.float64, [1.0])
    assert evaluate("b == 0.1", columns, precision=FP32).values.tolist() == [1.0]


@pytest.mark.parametrize(
    "dtype",
    ["i1", "<i8", "u1", "<u8", "?", "<f2", "<f8", ">f4", ml_dtypes.float8_e4m3fn],
)
def test_every_numeric_type_is_converted_to_the_precision(evaluate, precision, dtype):
    answer = evaluate("a * 2", {"a": np.array([0, 1], dtype)}, precision=precision)
    assert answer.values.dtype == precision.numpy
    assert answer.values.tolist() == [0, 2]


def test_values_too_large_for_the_precision_become_infinite_without_a_warning(evaluate):
    answer = evaluate("a * 1e300", {"a": np.array([1e300, -1e300, 0.0])}, precision=FP32)
    np.testing.assert_array_equal(answer.values, [math.inf, -math.inf, math.nan])


def test_nan_and_infinity_pass_through_every_function_without_a_warning(evaluate, precision):
    odd = np.array([math.nan, math.inf, -math.inf, 0.0, -1.0, 1e30, 1.0])
    columns = {"odd": odd, "one": [1.0]}
    for function in FUNCTIONS.values():
        if function.is_callable:
            arguments = ["odd", *["one"] * (len(function.params) - 1)]
            text = f"{function.name}({', '.join(arguments)})"
        else:
            text = "odd".join(["", *[f" {function.name} "] * (len(function.params) - 1), ""])
            text = text if len(function.params) == 2 else f"{function.name}odd"
        assert evaluate(text, columns, precision=precision).values.shape == (7,)


def test_the_callers_columns_are_neither_changed_nor_handed_back():
    column = np.array([1.0, 0.0], np.float32)
    column.flags.writeable = False
    for text in ("a", "1 / a", "default(a, 1)", "topk(a, 1)"):
        answer = compile_expression(text).evaluate([column], 2)
        assert not np.shares_memory(answer.values, column)
        assert answer.values.flags.writeable


@pytest.mark.parametrize("text", ["a + 1", "rank(a)", "sum(a) + count(a)", "1 / 0", "topk(a, 2)"])
def test_no_rows_give_no_values(text):
    expression = compile_expression(text)
    columns = [np.empty(0, np.float32)] * len(expression.variables)
    assert expression.evaluate(columns, 0).values.shape == (0,)


def test_rows_without_an_answer_are_marked_and_the_others_have_theirs(evaluate):
    answer = evaluate("a / b + log(a)", {"a": [1.0, 1.0, 0.0, 2.0], "b": [2.0, 0.0, 1.0, 0.0]})
    assert answer.invalid.tolist() == [False, True, True, True]
    np.testing.assert_array_equal(answer.values, [0.5, math.nan, math.nan, math.nan])
    assert answer.reason == "division by zero; log of a value that is not above 0"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1 / x", "division by zero"),
        ("log(x)", "log of a value that is not above 0"),
        ("log1p(x - 1)", "log1p of a value that is not above -1"),
        ("sqrt(x - 1)", "sqrt of a value below 0"),
        ("1 & x - 1", "& needs 0 or 1 on both sides"),
        ("x - 1 | 1", "| needs 0 or 1 on both sides"),
        ("!(x - 1)", "! needs 0 or 1"),
        ("if(x - 1, 1, 2)", "the condition of if needs to be 0 or 1"),
        ("norm_percentile_5_95(if(x == 0, (-1) ^ 0.5, x))", "norm_percentile of NaN"),
    ],
)
def test_every_reason_marks_its_row_or_fails_a_strict_evaluation(evaluate, text, reason):
    columns = {"x": [1.0, 0.0, 2.0]}
    answer = evaluate(text, columns)
    assert answer.reason == reason
    assert answer.invalid.tolist() == [False, True, False]
    assert np.isnan(answer.values).tolist() == [False, True, False]
    with pytest.raises(ComputeFailed) as failed:
        evaluate(text, columns, strict=True)
    assert str(failed.value) == f"{reason} (in 1 of 3 rows, first in row 1)"


def test_a_constant_without_an_answer_marks_every_row(evaluate):
    answer = evaluate("a + 1 / 0", {"a": [1.0, 2.0]})
    assert answer.invalid.tolist() == [True, True]


@pytest.mark.parametrize("strict", [False, True])
def test_if_guards_what_it_does_not_take(evaluate, strict):
    columns = {"a": [6.0, 6.0], "b": [3.0, 0.0]}
    answer = evaluate("if(b != 0, a / b, -1)", columns, strict=strict)
    assert answer.values.tolist() == [2, -1]
    assert answer.invalid is None


def test_default_forgets_a_fallback_it_does_not_use_but_not_a_mark(evaluate):
    columns = {"x": [1.0, math.nan, math.nan], "b": [0.0, 0.0, 2.0]}
    unused = evaluate("default(x, 1 / b)", columns)
    assert unused.invalid.tolist() == [False, True, False]
    assert evaluate("default(1 / b, 7)", columns).invalid.tolist() == [True, True, False]


def test_marked_rows_take_no_part_in_statistics_and_stay_marked(evaluate):
    columns = {"a": [1.0, 8.0, 3.0], "b": [1.0, 0.0, 1.0]}
    for text, expected in {
        "mean(a / b)": 2,
        "sum(a / b)": 4,
        "count(a / b)": 2,
        "max(a / b)": 3,
        "a - mean(a / b) - a": -2,
    }.items():
        answer = evaluate(text, columns)
        np.testing.assert_array_equal(answer.values, [expected, math.nan, expected])
        assert answer.invalid.tolist() == [False, True, False]


def test_percentile_rank_counts_positions_among_the_rows_that_take_part(evaluate):
    columns = {"a": [5.0, 1.0, 6.0, 7.0], "b": [1.0, 0.0, 1.0, 1.0]}
    answer = evaluate("percentile_rank(a / b)", columns)
    np.testing.assert_array_equal(answer.values, [0, math.nan, 0.5, 1])


def test_a_strict_evaluation_fails_even_where_if_would_hide_the_statistics(evaluate):
    columns = {"a": [1.0, 8.0], "b": [1.0, 0.0]}
    with pytest.raises(ComputeFailed, match="division by zero"):
        evaluate("if(b == 1, mean(a / b), 0)", columns, strict=True)


def test_a_setting_may_be_computed_as_long_as_all_rows_agree(evaluate):
    columns = {"x": [1.0, 5.0, 3.0], "k": [2.0], "mixed": [1.0, 2.0, 2.0]}
    assert evaluate("topk(x, k)", columns).values.tolist() == [0, 1, 1]
    assert evaluate("topk(x, count(x) - 2)", columns).values.tolist() == [0, 1, 0]
    with pytest.raises(ComputeFailed, match="k must be the same in every row"):
        evaluate("topk(x, mixed)", columns)
    with pytest.raises(ComputeFailed, match=r"k must be a whole number, 0 or more, not 0\.5"):
        evaluate("topk(x, k / 4)", columns)


def test_a_setting_without_an_answer_marks_every_row(evaluate):
    answer = evaluate("softmax(x, 1 / z)", {"x": [1.0, 2.0], "z": [0.0]})
    assert answer.invalid.tolist() == [True, True]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (np.array(["x", "y"], object), "column 'a' holds text where a number is needed"),
        (np.array(["x", "y"]), "column 'a' holds text"),
        (np.ones((2, 3)), "column 'a' holds vectors where a number is needed"),
        (np.ones(3), r"column 'a' has shape \(3,\); it needs 2 rows"),
        (np.float32(1), r"column 'a' has shape \(\)"),
        (np.ones(2, np.complex128), "column 'a': arrays of complex128"),
    ],
)
def test_a_column_that_is_no_number_fails_by_name(column, words):
    with pytest.raises(ComputeFailed, match=words):
        compile_expression("a + 1").evaluate([column], 2)


@pytest.mark.parametrize(
    ("column", "words"),
    [
        (np.array(["x", "y", "z"]), r"column 'g' has shape \(3,\)"),
        (np.ones((2, 2, 2)), r"column 'g' has shape \(2, 2, 2\)"),
        (np.array([["x"], ["y"]], object), "column 'g' holds vectors of object"),
    ],
)
def test_a_group_that_cannot_be_compared_fails_by_name(column, words):
    with pytest.raises(ComputeFailed, match=words):
        compile_expression("diversity(a, g, 0.5)").evaluate([np.ones(2), column], 2)


def test_text_is_only_accepted_where_a_group_is_taken():
    expression = compile_expression("diversity(a, g, 0.5) + g")
    assert expression.numeric_variables == ("a", "g")
    with pytest.raises(ComputeFailed, match="'g' holds text"):
        expression.evaluate([np.ones(1), np.array(["x"])], 1)
    assert compile_expression("diversity(a, g, 0.5)").numeric_variables == ("a",)


def test_a_wrong_number_of_columns_is_refused():
    with pytest.raises(ComputeFailed, match=r"reads 2 columns \(a, b\), but 1 were given"):
        compile_expression("a + b").evaluate([np.ones(1)], 1)


def test_other_precisions_are_refused():
    with pytest.raises(InvalidInput, match="FP32 or FP64, not in FP16"):
        compile_expression("a").evaluate([np.ones(1)], 1, precision=FP16)


def test_an_expression_is_cross_row_exactly_when_a_function_of_it_is():
    assert not compile_expression("if(a > 0, max(a, b), 1)").cross_row
    assert compile_expression("1 + max(a)").cross_row
    assert compile_expression("a percentile_rank").cross_row
    for function in FUNCTIONS.values():
        if function.is_callable and not function.of_one:
            arguments = ", ".join(f"a{i}" for i in range(len(function.params)))
            expression = compile_expression(f"{function.name}({arguments})")
            assert expression.cross_row == function.cross_row
