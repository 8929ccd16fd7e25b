"""The compute runner over a book of expressions."""

from __future__ import annotations

import numpy as np
import pytest

from inferflow.compute import EmbeddedCompute, Evaluation, ExpressionBook
from inferflow.dtypes import FP32, FP64
from inferflow.errors import ComputeFailed, ExpressionInvalid, InvalidInput, NotFound

from ...robustness.scenario import StartScenario

BOOK = ExpressionBook({"ratio": "clicks / views", "broken": "clicks /", "constant": "1 + 1"})


def prepare(compute_id, variables, *, precision=FP64, strict=False):
    return EmbeddedCompute(BOOK).prepare(compute_id, variables, precision=precision, strict=strict)


def finish(coroutine) -> Evaluation:
    """Drive a coroutine that promises not to suspend."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("a local runner must not suspend")


def test_it_is_local_and_finishes_without_suspending():
    assert EmbeddedCompute.is_local
    run = prepare("ratio", ("clicks", "views")).run
    answer = finish(run([np.array([3.0]), np.array([6.0])], 1, deadline=None))
    assert answer.values.tolist() == [0.5]


def test_columns_are_taken_in_the_prepared_order():
    run = prepare("ratio", ("views", "unused", "clicks")).run
    columns = [np.array([6.0]), np.array(["x"]), np.array([3.0])]
    assert finish(run(columns, 1, deadline=None)).values.tolist() == [0.5]


def test_precision_and_strictness_are_settled_when_prepared():
    columns = [np.array([1.0, 1.0]), np.array([0.0, 2.0])]
    lenient = prepare("ratio", ("clicks", "views"), precision=FP32).run
    answer = finish(lenient(columns, 2, deadline=None))
    assert answer.values.dtype == np.float32
    assert answer.invalid.tolist() == [True, False]
    assert answer.reason == "division by zero"
    strict = prepare("ratio", ("clicks", "views"), strict=True).run
    with pytest.raises(ComputeFailed, match="division by zero"):
        finish(strict(columns, 2, deadline=None))


def test_an_expression_without_columns_answers_for_every_row():
    answer = finish(prepare("constant", ()).run([], 3, deadline=None))
    assert answer.values.tolist() == [2, 2, 2]


def test_an_unknown_id_is_not_found_with_the_nearest_one(scenario: StartScenario):
    tried = scenario("D7", "an expression that is not there")
    with pytest.raises(NotFound, match="no expression 'ration'; did you mean 'ratio'") as absent:
        prepare("ration", ())
    nearest = absent.value.nearest
    assert absent.value.kind == "expression"
    tried.holds("refused, with the nearest", nearest, nearest == "ratio")


def test_a_broken_expression_says_what_is_wrong_with_it():
    with pytest.raises(ExpressionInvalid, match="unexpected end"):
        prepare("broken", ("clicks",))


def test_a_column_that_will_not_come_is_refused_when_prepared():
    with pytest.raises(InvalidInput, match="reads 'views', which is not among its columns"):
        prepare("ratio", ("clicks",))
