"""An expression asked for over the wire has the value it has in this process, to the last bit."""

from __future__ import annotations

import asyncio
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.client.compute import ComputeRequest, read_answer
from inferflow.compute import EmbeddedCompute, ExpressionBook
from inferflow.dtypes import FP32, FP64, DType
from inferflow.errors import ComputeFailed, InvalidInput

from .numerix_calls import Numerix

EXPRESSIONS = {
    "mix": "0.8 * a + b ^ 2",
    "ratio": "a / b",
    "logs": "log(a) - default(log(b), -1)",
    "share": "softmax(a) + rank(b)",
    "original": {"postfix": "a b min norm_min_max"},
    "constant": "1.5",
}
VARIABLES = ("a", "b")
NUMERIX = Numerix(EXPRESSIONS)
EMBEDDED = EmbeddedCompute(ExpressionBook(EXPRESSIONS))


def near(compute_id: str, columns: list[Any], rows: int, precision: DType, strict: bool) -> Any:
    prepared = EMBEDDED.prepare(compute_id, VARIABLES, precision=precision, strict=strict)
    return asyncio.run(prepared.run(columns, rows, deadline=None))


def far(compute_id: str, columns: list[Any], rows: int, precision: DType, strict: bool) -> Any:
    request = ComputeRequest(compute_id, VARIABLES, precision, strict=strict)
    answer = NUMERIX(request.of(request.table(columns, rows)))
    return read_answer(answer.SerializeToString(), rows, request)


@pytest.mark.parametrize("precision", [FP32, FP64], ids=str)
@pytest.mark.parametrize("compute_id", EXPRESSIONS)
@given(
    rows=st.lists(st.tuples(st.floats(-1e3, 1e3), st.floats(-2, 2)), min_size=1, max_size=9),
    zero=st.booleans(),
)
def test_an_expression_means_the_same_over_the_wire(
    compute_id: str, precision: DType, rows: list[tuple[float, float]], zero: bool
) -> None:
    columns = [np.array(column) for column in zip(*rows, strict=True)]
    if zero:
        columns[1][0] = 0.0
    here = near(compute_id, columns, len(rows), precision, strict=False)
    there = far(compute_id, columns, len(rows), precision, strict=False)
    assert there.values.dtype == here.values.dtype
    np.testing.assert_array_equal(there.values, here.values)
    assert (there.invalid is None) == (here.invalid is None)
    if here.invalid is not None:
        np.testing.assert_array_equal(there.invalid, here.invalid)
        assert there.reason == here.reason


def test_a_strict_step_fails_over_the_wire_as_it_does_here() -> None:
    columns = [np.array([1.0, 2.0]), np.array([1.0, 0.0])]
    with pytest.raises(ComputeFailed) as here:
        near("ratio", columns, 2, FP32, strict=True)
    with pytest.raises(InvalidInput) as there:
        far("ratio", columns, 2, FP32, strict=True)
    assert str(there.value) == str(here.value)
