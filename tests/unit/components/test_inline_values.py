"""Values a request brings: typed as their readers declare, or refused by name and position."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from inferflow.dtypes import parse_dtype
from inferflow.errors import InvalidRequest

from ..engine.worlds import RowModel, World, tensor
from ..engine.writing import config, model_step, request


def echo(dtype: str, width: int | None = 1) -> World:
    """A world with a model that gives back what it got."""
    world = World()
    kind = parse_dtype(dtype)
    world.models["echo"] = RowModel(
        (tensor("x", kind.element, width),),
        (tensor("y", kind.element, width),),
        lambda x: [list(x)],
    )
    return world


def taken(
    dtype: str, given: Any, *, rows: int = 2, width: int = 1, context: bool = False
) -> list[Any]:
    """What a model is given when a request brings these values."""
    world = echo(dtype, width)
    use: dict[str, Any] = {"dtype": dtype}
    if width > 1:
        use["dim"] = width
    written = config(["m:y"], models={"m": model_step("echo", {"v": use}, ["y"], on_error="fail")})
    where = {"context": {"v": given}} if context else {"features": {"product": {"v": given}}}
    entities = {"product": [str(i) for i in range(rows)]}
    scores = world.scorer(written).score_now(request(entities=entities, **where))
    return scores.targets.columns["m:y"].to_list()


def refusal(dtype: str, given: Any, **more: Any) -> InvalidRequest:
    with pytest.raises(InvalidRequest) as refused:
        taken(dtype, given, **more)
    return refused.value


@pytest.mark.parametrize(
    ("dtype", "given", "wanted"),
    [
        ("FP32", [1, 2], [1.0, 2.0]),
        ("FP32", [0.5, 1], [0.5, 1.0]),
        ("FP32", ["0.5", "1e3"], [0.5, 1000.0]),
        ("FP32", 7, [7.0, 7.0]),
        ("FP32", [7], [7.0, 7.0]),
        ("FP32", np.array([1, 2], np.int8), [1.0, 2.0]),
        ("FP32", np.array([1, 2], ">f8"), [1.0, 2.0]),
        ("FP32", np.array([1, 2.5], object), [1.0, 2.5]),
        ("String", np.array(["a", "b"]), ["a", "b"]),
        ("INT32", [1.9, -1.9], [1, -1]),
        ("INT32", [True, False], [1, 0]),
        ("INT32", ["7", "-8"], [7, -8]),
        ("INT8", [300, -129], [44, 127]),
        ("INT8", [300.0, float("nan")], [127, 0]),
        ("INT64", [2**62, -(2**62)], [2**62, -(2**62)]),
        ("UINT64", [2**63, 2**64 - 1], [2**63, 2**64 - 1]),
        ("Bool", [0, 2], [False, True]),
        ("Bool", ["true", "FALSE"], [True, False]),
        ("String", ["a", ""], ["a", ""]),
        ("String", [1, 2], ["1", "2"]),
        ("String", [True, False], ["true", "false"]),
        ("FP16", [1e6, 0.1], [float("inf"), 0.0999755859375]),
    ],
)
def test_a_value_per_target_takes_the_declared_type(
    dtype: str, given: Any, wanted: list[Any]
) -> None:
    assert taken(dtype, given) == wanted


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ([[1, 2], [3, 4]], [[1.0, 2.0], [3.0, 4.0]]),
        ([[1, 2]], [[1.0, 2.0], [1.0, 2.0]]),
        (["1:2", "3:4"], [[1.0, 2.0], [3.0, 4.0]]),
        (["1,2", "[3, 4]"], [[1.0, 2.0], [3.0, 4.0]]),
        (np.arange(4).reshape(2, 2), [[0.0, 1.0], [2.0, 3.0]]),
    ],
)
def test_vectors_come_as_lists_or_as_text(given: Any, wanted: list[Any]) -> None:
    assert taken("FP32Vector", given, width=2) == wanted


@pytest.mark.parametrize("given", [[1, 2], "1:2", np.array([1.0, 2.0])])
def test_a_list_in_the_context_is_one_vector(given: Any) -> None:
    assert taken("FP32Vector", given, width=2, context=True) == [[1.0, 2.0], [1.0, 2.0]]


@pytest.mark.parametrize(
    ("dtype", "given", "field", "what"),
    [
        ("FP32", [1, 2, 3], "features.product.v", "3 value(s) for 2 target(s)"),
        ("FP32", [], "features.product.v", "0 value(s) for 2 target(s)"),
        ("FP32", [1, "2"], "features.product.v[0]", "text and numbers are mixed"),
        ("FP32", [1, None], "features.product.v[1]", "None: is not a plain value"),
        ("FP32", np.array([1, None], object), "features.product.v[1]", "not a plain value"),
        ("FP32", [["a", "b"], ["c", 1]], "features.product.v[1]", "text and numbers are mixed"),
        ("FP32", [None, None], "features.product.v[0]", "not a plain value"),
        ("FP32", None, "features.product.v", "not a plain value"),
        ("FP32", [{}, {}], "features.product.v[0]", "not a plain value"),
        ("FP32", [[1, 2], [3]], "features.product.v", "one shape"),
        ("FP32", [[], []], "features.product.v", "no elements"),
        ("FP32", [[1, 2], [3, 4]], "features.product.v", "2 element(s) per value, 1 wanted"),
        ("FP32", [[[1]], [[2]]], "features.product.v", "3 dimensions"),
        ("FP32", ["1", "one"], "features.product.v[1]", "does not read as FP32"),
        ("INT32", ["1", "1.5"], "features.product.v[1]", "does not read as Int32"),
        ("INT8", ["1", "300"], "features.product.v[1]", "outside Int8"),
        ("INT32", [1, 2**64], "features.product.v[1]", "does not fit 64 bits"),
        ("FP32", [b"1", b"2"], "features.product.v[0]", "not a plain value"),
        ("FP32", np.array(["2024-01-01"] * 2, "M8[D]"), "features.product.v", "datetime64"),
        ("FP32", [1j, 2j], "features.product.v", "complex"),
    ],
)
def test_what_cannot_be_names_the_field_and_the_row(
    dtype: str, given: Any, field: str, what: str
) -> None:
    refused = refusal(dtype, given)
    assert refused.field == field
    assert what in refused.what


@pytest.mark.parametrize(
    ("given", "field", "what"),
    [
        ([[1, 2, 3], [4, 5, 6]], "features.product.v", "3 element(s) per value, 2 wanted"),
        (["1:2", "1:2:3"], "features.product.v[1]", "3 elements"),
        (["1:2", "1:x"], "features.product.v[1]", "does not read as FP32"),
        ([1, 2], "features.product.v", "1 element(s) per value, 2 wanted"),
    ],
)
def test_a_vector_of_another_length_is_refused(given: Any, field: str, what: str) -> None:
    refused = refusal("FP32Vector", given, width=2)
    assert (refused.field, what in refused.what) == (field, True)


@pytest.mark.parametrize(
    ("dtype", "given", "what"),
    [
        ("FP32", [1, 2], "2 element(s) per value, 1 wanted"),
        ("FP32", "one", "does not read as FP32"),
        ("FP32", None, "not a plain value"),
        ("FP32", [], "no elements"),
        ("FP32", [[1, 2], [3, 4]], "2 dimensions"),
    ],
)
def test_a_context_value_that_cannot_be_names_its_field(dtype: str, given: Any, what: str) -> None:
    refused = refusal(dtype, given, context=True)
    assert (refused.field, what in refused.what) == ("context.v", True)


@pytest.mark.parametrize("deep", [[[1, 2], [3, 4]]])
def test_a_context_vector_is_not_flattened(deep: Any) -> None:
    assert "2 dimensions" in refusal("FP32Vector", deep, width=4, context=True).what


@pytest.mark.parametrize(
    ("given", "what"),
    [([1, 2, 3], "3 value(s) for 2 pairs"), ([], "0 value(s) for 2 pairs"), (["x", "y"], "read")],
)
def test_pair_values_line_up_with_the_pairs(given: Any, what: str) -> None:
    world = echo("FP32", None)
    step = model_step("echo", {"gap": "FP32"}, ["y"], slate_component=True)
    scorer = world.scorer(config(["m:y"], models={"m": step}))
    with pytest.raises(InvalidRequest) as refused:
        scorer.score_now(request(pairs=[[0, 0], [0, 0]], slate_features={"gap": given}))
    assert refused.value.field.startswith("pair_features.gap")
    assert what in refused.value.what


@pytest.mark.parametrize(
    ("parts", "field"),
    [
        ({"features": {"product": {"spare": [1, 2, 3]}}}, "features.product.spare"),
        ({"pairs": [[0, 1]], "slate_features": {"spare": [1, 2]}}, "pair_features.spare"),
    ],
)
def test_values_that_nothing_reads_are_counted_all_the_same(
    parts: dict[str, Any], field: str
) -> None:
    world = echo("FP32")
    step = model_step("echo", {"v": "FP32"}, ["y"], slate_component="pairs" in parts)
    scorer = world.scorer(config(["m:y"], models={"m": step}))
    with pytest.raises(InvalidRequest) as refused:
        scorer.score_now(request(entities={"product": ["1", "2"]}, context={"v": 1.0}, **parts))
    assert refused.value.field == field
