"""One way to evaluate a text over named columns, shared by the tests of the language."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from inferflow.compute import Evaluation, compile_expression
from inferflow.dtypes import FP32, FP64, DType

Evaluate = Callable[..., Evaluation]


@pytest.fixture(scope="session")
def evaluate() -> Evaluate:
    def evaluate_text(
        source: str | Mapping[str, str],
        columns: Mapping[str, Sequence[Any] | np.ndarray[Any, Any]],
        *,
        rows: int | None = None,
        precision: DType = FP64,
        strict: bool = False,
    ) -> Evaluation:
        expression = compile_expression(source)
        arrays = {name: np.asarray(values) for name, values in columns.items()}
        count = max(map(len, arrays.values())) if rows is None else rows
        return expression.evaluate(
            [arrays[name] for name in expression.variables],
            count,
            precision=precision,
            strict=strict,
        )

    return evaluate_text


@pytest.fixture(params=[FP32, FP64], ids=repr)
def precision(request: pytest.FixtureRequest) -> DType:
    dtype: DType = request.param
    return dtype
