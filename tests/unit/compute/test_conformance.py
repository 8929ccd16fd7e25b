"""Postfix behaves exactly as the original does: its vectors and its edge cases."""

from __future__ import annotations

import math

import numpy as np
import pytest

from inferflow.compute import compile_expression
from inferflow.dtypes import FP64
from inferflow.errors import ComputeFailed, ExpressionInvalid

COLUMNS = {
    "pctr": [0.1, 0, 0.1, 0],
    "pcvr": [0.2, 0.1, 0.2, 0.5],
    "nobygo": [-0.3, 0.2, -0.5, 0.1],
    "x": [0.6, 0.6, 0.6, 0.6],
    "y": [0.2, 1, 0, 0.6],
    "z": [0, 0, 1, 1],
    "a": [0, 1, 0, 1],
}
TOLERANCE = {"FP32": 1e-6, "FP64": 1e-13}

VECTORS = [
    ("pctr pcvr +", [0.3, 0.1, 0.3, 0.5]),
    ("pctr pcvr -", [-0.1, -0.1, -0.1, -0.5]),
    ("pctr pcvr *", [0.02, 0, 0.02, 0]),
    ("pctr pcvr /", [0.5, 0, 0.5, 0]),
    ("pctr pcvr ^", [0.6309573444801932, 0, 0.6309573444801932, 0]),
    ("pcvr log", [-1.6094379124341003, -math.log(10), -1.6094379124341003, -math.log(2)]),
    (
        "pcvr exp",
        [1.2214027581601699, 1.1051709180756477, 1.2214027581601699, 1.6487212707001282],
    ),
    ("nobygo abs", [0.3, 0.2, 0.5, 0.1]),
    ("nobygo percentile_rank", [0, 1 / 3, 2 / 3, 1]),
    ("z a |", [0, 1, 1, 1]),
    ("z a &", [0, 0, 0, 1]),
    ("pcvr y ==", [1, 0, 0, 0]),
    ("pcvr y >=", [1, 0, 1, 0]),
    ("pcvr y <=", [1, 1, 0, 1]),
    ("pcvr nobygo >", [1, 0, 1, 1]),
    ("pcvr nobygo <", [0, 1, 0, 0]),
    ("nobygo x min", [-0.3, 0.2, -0.5, 0.1]),
    ("nobygo x max", [0.6, 0.6, 0.6, 0.6]),
    ("nobygo norm_min_max", [0.28571428571428575, 1, 0, 0.8571428571428572]),
    ("nobygo norm_percentile_0_99", [0.2869440459110474, 1.0043041606886658, 0, 0.860832137733142]),
    (
        "nobygo norm_percentile_5_95",
        [0.2595419847328244, 1.0229007633587786, -0.0458015267175573, 0.8702290076335878],
    ),
]


@pytest.mark.parametrize(("text", "expected"), VECTORS)
def test_every_conformance_vector_holds_in_both_precisions(evaluate, precision, text, expected):
    answer = evaluate({"postfix": text}, COLUMNS, precision=precision, strict=True)
    assert answer.values.dtype == precision.numpy
    np.testing.assert_allclose(answer.values, expected, rtol=0, atol=TOLERANCE[precision.name])


@pytest.mark.parametrize("text", [text for text, _ in VECTORS])
def test_every_conformance_vector_is_recognised_without_saying_that_it_is_postfix(text):
    assert compile_expression(text).kind == "postfix"
    assert compile_expression(text) == compile_expression({"postfix": text})


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("pcvr pctr /", "division by zero"),
        ("pctr log", "log of a value that is not above 0"),
        ("nobygo log", "log of a value that is not above 0"),
        ("x a &", "& needs 0 or 1"),
        ("a x |", r"\| needs 0 or 1"),
    ],
)
def test_a_value_without_an_answer_fails_a_strict_evaluation(evaluate, precision, text, why):
    with pytest.raises(ComputeFailed, match=why):
        evaluate({"postfix": text}, COLUMNS, precision=precision, strict=True)


def test_negative_zero_is_a_zero_divisor(evaluate):
    with pytest.raises(ComputeFailed, match="division by zero"):
        evaluate({"postfix": "a b /"}, {"a": [1.0], "b": [-0.0]}, strict=True)


@pytest.mark.parametrize("text", ["a b &", "b a &", "a b |", "b a |"])
def test_nan_is_not_a_truth(evaluate, text):
    with pytest.raises(ComputeFailed, match="needs 0 or 1"):
        evaluate({"postfix": text}, {"a": [1.0], "b": [math.nan]}, strict=True)


def test_nan_passes_through_log_and_as_a_divisor(evaluate):
    columns = {"a": [1.0, 2.0], "n": [math.nan, 2.0]}
    logs = evaluate({"postfix": "n log"}, columns, strict=True).values
    np.testing.assert_allclose(logs, [math.nan, math.log(2)])
    np.testing.assert_allclose(
        evaluate({"postfix": "a n /"}, columns, strict=True).values, [math.nan, 1]
    )


@pytest.mark.parametrize("operator", [">", "<", ">=", "<=", "=="])
def test_comparisons_with_nan_are_false(evaluate, operator):
    columns = {"a": [math.nan, 1.0, math.nan], "b": [1.0, math.nan, math.nan]}
    assert evaluate({"postfix": f"a b {operator}"}, columns).values.tolist() == [0, 0, 0]


def test_of_a_number_and_nan_min_and_max_return_the_number(evaluate):
    columns = {"a": [math.nan, 1.0, math.nan], "b": [2.0, math.nan, math.nan]}
    for operator in ("min", "max"):
        np.testing.assert_array_equal(
            evaluate({"postfix": f"a b {operator}"}, columns).values, [2, 1, math.nan]
        )


def test_a_power_without_a_real_answer_is_nan_and_no_error(evaluate):
    answer = evaluate({"postfix": "a b ^"}, {"a": [-8.0], "b": [0.5]}, strict=True)
    assert math.isnan(answer.values[0])


@pytest.mark.parametrize("function", ["norm_min_max", "percentile_rank"])
def test_a_constant_column_normalises_to_ones(evaluate, precision, function):
    columns = {"x": [4.0, 4.0, 4.0]}
    values = evaluate({"postfix": f"x {function}"}, columns, precision=precision).values
    assert values.tolist() == [1, 1, 1]


@pytest.mark.parametrize("function", ["norm_percentile_0_99", "norm_percentile_5_95"])
def test_percentile_bounds_that_coincide_are_read_as_1_and_2(evaluate, function):
    assert evaluate({"postfix": f"x {function}"}, {"x": [4.0, 4.0]}).values.tolist() == [3, 3]


@pytest.mark.parametrize(
    "function",
    ["norm_min_max", "percentile_rank", "norm_percentile_0_99", "norm_percentile_5_95"],
)
def test_a_single_row_normalises_to_1(evaluate, function):
    assert evaluate({"postfix": f"x {function}"}, {"x": [7.0]}).values.tolist() == [1]


@pytest.mark.parametrize("function", ["norm_percentile_0_99", "norm_percentile_5_95"])
def test_nan_fails_percentile_bounds_in_a_strict_evaluation(evaluate, function):
    with pytest.raises(ComputeFailed, match="norm_percentile of NaN"):
        evaluate({"postfix": f"x {function}"}, {"x": [1.0, math.nan]}, strict=True)


def test_percentile_rank_goes_by_position_even_for_nan(evaluate):
    values = evaluate({"postfix": "x percentile_rank"}, {"x": [9.0, math.nan, 1.0]}).values
    assert values.tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("number", ["2", "-1.5", "0.25", "007"])
def test_digits_with_an_optional_fraction_and_minus_are_numbers(evaluate, number):
    expression = compile_expression({"postfix": f"x {number} *"})
    assert expression.variables == ("x",)
    assert expression.evaluate([np.ones(1)], 1, precision=FP64).values[0] == float(number)


@pytest.mark.parametrize("token", ["1e5", ".5", "+3", "5."])
def test_other_forms_of_numbers_are_unknown_tokens(token):
    with pytest.raises(ExpressionInvalid, match="unknown token") as refused:
        compile_expression({"postfix": f"x {token} *"})
    assert token in str(refused.value)
    assert refused.value.position == 2


def test_tokens_are_case_sensitive_and_any_other_text_is_a_column():
    expression = compile_expression({"postfix": "LOG user:profile:age\t+\n Min max"})
    assert expression.variables == ("LOG", "user:profile:age", "Min")


def test_stack_underflow_names_the_operator_and_its_place():
    with pytest.raises(ExpressionInvalid, match=r"'\*' needs 2 value\(s\)") as refused:
        compile_expression({"postfix": "a *"})
    assert refused.value.position == 2


def test_values_left_at_the_end_are_counted():
    with pytest.raises(ExpressionInvalid, match="3 values are left"):
        compile_expression({"postfix": "a b c d +"})


def test_an_unknown_percentile_function_is_refused_with_the_nearest_operator():
    with pytest.raises(ExpressionInvalid, match="norm_percentile_99_95") as refused:
        compile_expression({"postfix": "nobygo norm_percentile_99_95"})
    assert "did you mean norm_percentile_5_95" in refused.value.hint


@pytest.mark.parametrize("text", ["", "  \t\n"])
def test_an_empty_expression_is_refused(text):
    with pytest.raises(ExpressionInvalid, match="empty"):
        compile_expression({"postfix": text})
