"""Every operator in both precisions and both forms, by known inputs and answers."""

from __future__ import annotations

from math import log

import numpy as np
import pytest

from inferflow.dtypes import FP32, FP64

from .numerix_calls import Numerix, byte_request, error, text_request, texts, values

COLUMNS = {
    "pctr": [0.1, 0, 0.1, 0],
    "pcvr": [0.2, 0.1, 0.2, 0.5],
    "nobygo": [-0.3, 0.2, -0.5, 0.1],
    "x": [0.6, 0.6, 0.6, 0.6],
    "y": [0.2, 1, 0, 0.6],
    "z": [0, 0, 1, 1],
    "a": [0, 1, 0, 1],
}
EXPECTED: dict[str, list[float]] = {
    "pctr pcvr +": [0.3, 0.1, 0.3, 0.5],
    "pctr pcvr -": [-0.1, -0.1, -0.1, -0.5],
    "pctr pcvr *": [0.02, 0, 0.02, 0],
    "pctr pcvr /": [0.5, 0, 0.5, 0],
    "pctr pcvr ^": [0.6309573444801932, 0, 0.6309573444801932, 0],
    "pcvr log": [-1.6094379124341003, -log(10), -1.6094379124341003, -log(2)],
    "pcvr exp": [1.2214027581601699, 1.1051709180756477, 1.2214027581601699, 1.6487212707001282],
    "nobygo abs": [0.3, 0.2, 0.5, 0.1],
    "nobygo percentile_rank": [0, 1 / 3, 2 / 3, 1],
    "z a |": [0, 1, 1, 1],
    "z a &": [0, 0, 0, 1],
    "pcvr y ==": [1, 0, 0, 0],
    "pcvr y >=": [1, 0, 1, 0],
    "pcvr y <=": [1, 1, 0, 1],
    "pcvr nobygo >": [1, 0, 1, 1],
    "pcvr nobygo <": [0, 1, 0, 0],
    "nobygo x min": [-0.3, 0.2, -0.5, 0.1],
    "nobygo x max": [0.6, 0.6, 0.6, 0.6],
    "nobygo norm_min_max": [0.28571428571428575, 1, 0, 0.8571428571428572],
    "nobygo norm_percentile_0_99": [0.2869440459110474, 1.0043041606886658, 0, 0.860832137733142],
    "nobygo norm_percentile_5_95": [
        0.2595419847328244,
        1.0229007633587786,
        -0.0458015267175573,
        0.8702290076335878,
    ],
}
PRECISIONS = {"fp64": (FP64, 1e-13), "fp32": (FP32, 1e-6)}
SCHEMA = ("id", *COLUMNS)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("expression", EXPECTED)
def test_every_operator_answers_as_known_in_bytes(expression: str, precision: str) -> None:
    dtype, tolerance = PRECISIONS[precision]
    rows = [
        [b"row", *(np.array(cell, dtype.numpy).tobytes() for cell in row)]
        for row in zip(*COLUMNS.values(), strict=True)
    ]
    answer = Numerix({"1": {"postfix": expression}})(
        byte_request(rows, SCHEMA, data_type=precision)
    )
    scores = np.frombuffer(b"".join(score for _, score in values(answer)), dtype.numpy)
    np.testing.assert_allclose(scores, EXPECTED[expression], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("expression", EXPECTED)
def test_every_operator_answers_as_known_in_text(expression: str, precision: str) -> None:
    _, tolerance = PRECISIONS[precision]
    rows = [["row", *map(str, row)] for row in zip(*COLUMNS.values(), strict=True)]
    answer = Numerix({"1": {"postfix": expression}})(
        text_request(rows, SCHEMA, data_type=precision)
    )
    scores = [float(score) for _, score in texts(answer)]
    np.testing.assert_allclose(scores, EXPECTED[expression], rtol=tolerance, atol=tolerance)


@pytest.mark.scenario("D7")
@pytest.mark.parametrize(
    ("expression", "why", "operation"),
    [
        ("pcvr pctr /", "division by zero", "division"),
        ("pctr log", "log of a value", "log"),
        ("x a &", "& needs 0 or 1", "and"),
        ("x a |", "| needs 0 or 1", "or"),
    ],
)
def test_an_operation_without_an_answer_fails_all_rows(
    expression: str, why: str, operation: str
) -> None:
    rows = [["row", *map(str, row)] for row in zip(*COLUMNS.values(), strict=True)]
    numerix = Numerix({"1": {"postfix": expression}})
    assert why in error(numerix(text_request(rows, SCHEMA)))
    assert numerix.calls[0].outcome == "error"
    assert numerix.calls[0].operations == (operation,)
