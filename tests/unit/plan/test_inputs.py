"""How the columns a model step reads become the tensors its model takes."""

from __future__ import annotations

from typing import Any

import pytest

from inferflow.testing import model


def tensors(shop: Any, step: str = "ranker") -> dict[str, tuple[list[str], int]]:
    """input → (columns in order, values per row)."""
    [arm, *_] = shop.step(step).arms
    return {
        tensor.name: ([source.name for source in tensor.sources], tensor.width)
        for tensor in arm.tensors
    }


# --- one input as wide as all columns ---------------------------------------------------------


def test_one_input_of_the_summed_width_takes_the_columns_as_written(shop: Any) -> None:
    assert tensors(shop) == {"x": (list(shop.feature_map), 3)}


def test_a_vector_counts_its_length(shop: Any) -> None:
    shop.takes("x", "FP32[N,4]")
    shop.reads(product__attributes__embedding="FP32Vector", user__profile__age="INT32")
    assert tensors(shop) == {"x": (["product:attributes:embedding", "user:profile:age"], 4)}


@pytest.mark.parametrize("shape", ["FP32[N,3]", "FP32[N,M]", "FP32[N,3,1]", "FP32[N,1,3]"])
def test_the_width_may_be_free_or_spread_over_dimensions(shop: Any, shape: str) -> None:
    shop.takes("x", shape)
    assert tensors(shop)["x"][1] == 3


def test_a_single_column_fills_an_input_without_a_width(shop: Any) -> None:
    shop.takes("anything", "FP32[N]")
    shop.reads(user__profile__age="INT32")
    assert tensors(shop) == {"anything": (["user:profile:age"], 1)}


def test_neighbours_in_a_group_move_together(shop: Any) -> None:
    shop["fs_user"]["fs_request"]["feature_groups"][0]["feature_labels"] = ["age@FP32", "income"]
    shop.takes("x", "FP32[N,3]")
    shop.reads(user__profile__age=None, user__profile__income=None, product__attributes__price=None)
    [tensor] = shop.step("ranker").arms[0].tensors
    assert [(piece.start, piece.stop, piece.at) for piece in tensor.pieces] == [
        (0, 2, 0),
        (0, 1, 2),
    ]


def test_a_column_read_as_another_type_does_not_move_with_its_neighbour(shop: Any) -> None:
    shop["fs_user"]["fs_request"]["feature_groups"][0]["feature_labels"] = ["age@FP32", "income"]
    shop.takes("x", "FP32[N,2]")
    shop.reads(user__profile__age="INT32", user__profile__income="FP32")
    [tensor] = shop.step("ranker").arms[0].tensors
    assert [(piece.at, piece.via and piece.via.name) for piece in tensor.pieces] == [
        (0, "Int32"),
        (1, None),
    ]


def test_a_width_that_does_not_fit_shows_both_sides(shop: Any) -> None:
    shop.takes("x", "FP32[N,7]")
    assert shop.errors() == [
        "ranker.inputs: 3 column(s) of 3 value(s) per row (user:profile:age, "
        "product:attributes:price, user_category:affinity:share) do not fit model 'ranker' "
        "version 1, which takes 'x' FP32[N, 7] "
        "(match the summed width of one input, or name columns like the inputs)"
    ]


# --- inputs by name ---------------------------------------------------------------------------


def test_inputs_may_be_named_by_last_segment_full_name_or_underscores(shop: Any) -> None:
    shop.takes(
        "share",
        "FP32[N,1]",
        "product:attributes:price",
        "FP64[N]",
        "user_profile_age",
        "INT64[N,1]",
    )
    assert tensors(shop) == {
        "share": (["user_category:affinity:share"], 1),
        "product:attributes:price": (["product:attributes:price"], 1),
        "user_profile_age": (["user:profile:age"], 1),
    }


def test_a_vector_fills_an_input_of_its_length_by_name(shop: Any) -> None:
    shop.takes("embedding", "FP32[N,3]", "age", "INT32[N]")
    shop.reads(product__attributes__embedding="FP32Vector", user__profile__age="INT32")
    assert tensors(shop)["embedding"] == (["product:attributes:embedding"], 3)


@pytest.mark.parametrize(
    "inputs",
    [
        ("age", "INT32[N]", "price", "FP32[N]"),  # one column is left over
        ("age", "INT32[N]", "price", "FP32[N]", "share", "FP32[N,2]"),  # too wide
        ("age", "INT32[N]", "price", "FP32[N]", "spare", "FP32[N]"),  # no such column
    ],
)
def test_by_name_every_input_has_one_column_and_every_column_one_input(
    shop: Any, inputs: tuple[str, ...]
) -> None:
    shop.takes(*inputs)
    [error] = shop.errors()
    assert error.startswith("ranker.inputs: 3 column(s) of 3 value(s) per row (user:profile:age")
    for name in inputs[::2]:
        assert f"{name!r} " in error


def test_two_columns_that_end_alike_do_not_fill_one_input(shop: Any) -> None:
    shop.takes("price", "FP32[N]", "share", "FP32[N]")
    shop.reads(product__attributes__price="FP32", price="FP32", user_category__affinity__share=None)
    [error] = shop.errors()
    assert "do not fit model 'ranker'" in error


# --- tensors spelled out ----------------------------------------------------------------------


def test_tensors_spelled_out_win_over_the_feature_map(shop: Any) -> None:
    shop.takes("b", "FP32[N,2]", "a", "INT64[N,1]")
    shop["ranker"]["inputs"]["tensors"] = [
        {"name": "a", "features": ["user:profile:age"], "shape": [1], "data_type": "INT64"},
        {
            "name": "b",
            "features": ["product:attributes:price", "user_category:affinity:share"],
            "shape": [2],
            "data_type": "FP32",
        },
    ]
    assert tensors(shop) == {
        "b": (["product:attributes:price", "user_category:affinity:share"], 2),
        "a": (["user:profile:age"], 1),
    }


@pytest.mark.parametrize("shape", [[], [-1], [3]])
def test_a_shape_may_be_left_to_be_worked_out(shop: Any, shape: list[int]) -> None:
    shop["ranker"]["inputs"] = [
        {"name": "x", "features": ["product:attributes:embedding"], "shape": shape}
    ]
    assert tensors(shop)["x"][1] == 3


@pytest.mark.parametrize(
    ("inputs", "errors"),
    [
        (
            [{"name": "y", "features": ["user:profile:age"]}],
            [
                "ranker.inputs: the model has no input 'y' ('x' FP32[N, 3])",
                "ranker.inputs: the model's input 'x' is given no columns",
            ],
        ),
        (
            [{"name": "x", "features": ["user:profile:age"], "shape": [2]}],
            [
                "ranker.inputs['x']: 1 column(s) of 1 value(s) per row (user:profile:age) make 1 "
                "values, but shape [2] holds 2"
            ],
        ),
        (
            [{"name": "x", "features": ["user:profile:age"], "shape": [1]}],
            [
                "ranker.inputs['x']: 1 column(s) of 1 value(s) per row (user:profile:age) make 1 "
                "values, but the model takes 'x' FP32[N, 3]"
            ],
        ),
    ],
)
def test_tensors_spelled_out_must_fit_the_model(shop: Any, inputs: Any, errors: list[str]) -> None:
    shop["ranker"]["inputs"] = inputs
    assert shop.errors() == errors


# --- lengths only the request knows -----------------------------------------------------------


def test_a_vector_of_the_request_takes_what_the_one_input_leaves(shop: Any) -> None:
    shop.takes("x", "FP32[N,8]")
    shop.feature_map["taste"] = "FP32Vector"
    [arm] = shop.step("ranker").arms
    assert [source.width for source in arm.tensors[0].sources] == [1, 1, 1, 5]


def test_a_vector_of_the_request_takes_the_length_of_its_own_input(shop: Any) -> None:
    shop.takes("taste", "FP32[N,5]", "age", "INT32[N]")
    shop.reads(taste="FP32Vector", user__profile__age="INT32")
    assert tensors(shop)["taste"] == (["taste"], 5)


@pytest.mark.parametrize("shape", [[4], [-1], []])
def test_in_a_tensor_spelled_out_too(shop: Any, shape: list[int]) -> None:
    shop.takes("x", "FP32[N,4]")
    shop["ranker"]["inputs"] = [
        {
            "name": "x",
            "features": ["taste", "user:profile:age"],
            "shape": shape,
            "data_type": "FP32Vector",
        }
    ]
    [arm] = shop.step("ranker").arms
    assert [source.width for source in arm.tensors[0].sources] == [3, 1]


def test_two_vectors_of_unknown_length_need_to_say_it(shop: Any) -> None:
    shop.takes("x", "FP32[N,8]")
    shop.reads(taste="FP32Vector", mood="FP32Vector")
    [error] = shop.errors()
    assert "do not fit model 'ranker'" in error
    shop.reads(taste={"dtype": "FP32Vector", "dim": 3}, mood="FP32Vector")
    assert tensors(shop)["x"][1] == 8


def test_a_free_width_leaves_the_length_unknown(shop: Any) -> None:
    shop.takes("x", "FP32[N,M]")
    shop.reads(taste="FP32Vector")
    assert shop.errors() == [
        "ranker.inputs.feature_map['taste']: its length is not known (give it a `dim`)"
    ]


# --- types ------------------------------------------------------------------------------------


def test_text_does_not_fill_a_numeric_tensor(shop: Any) -> None:
    shop.takes("x", "FP32[N,1]")
    shop.reads(product__attributes__title="String")
    assert shop.errors() == [
        "ranker.inputs.feature_map['product:attributes:title']: text cannot fill the FP32 input "
        "'x' (declare the type it is to be read as)"
    ]


def test_text_read_as_a_number_does(shop: Any) -> None:
    shop.takes("x", "FP32[N,1]")
    shop.reads(product__attributes__title="FP32")
    [tensor] = shop.step("ranker").arms[0].tensors
    assert tensor.sources[0].via.name == "FP32"


def test_anything_fills_a_text_tensor(shop: Any) -> None:
    shop.takes("x", "STRING[N,2]")
    shop.reads(product__attributes__title="String", product__attributes__price="FP32")
    assert tensors(shop)["x"][1] == 2


# --- batches ----------------------------------------------------------------------------------


def test_a_model_of_a_fixed_batch_is_refused(shop: Any) -> None:
    shop.takes("x", "FP32[8,3]")
    assert shop.errors() == [
        "ranker.inputs: the model takes exactly 8 row(s): 'x' FP32[8, 3] "
        "(export it with a free batch dimension)"
    ]


def test_a_model_of_single_rows_needs_a_batch_size_of_one(shop: Any) -> None:
    shop.takes("x", "FP32[1,3]")
    [error] = shop.errors()
    assert error.endswith("(export it with a free batch dimension, or set batch_size to 1)")
    shop["ranker"]["batch_size"] = 1
    assert shop.errors() == []


def test_an_input_without_a_batch_is_refused(shop: Any) -> None:
    shop.takes("x", "FP32[N,3]", "temperature", "FP32[]")
    assert shop.errors() == [
        "ranker.inputs: the model's input 'temperature' is one value for a whole batch "
        "(export it with a batch dimension)"
    ]


# --- arms -------------------------------------------------------------------------------------


def test_each_arm_is_fitted_to_its_own_model(shop: Any) -> None:
    shop.models["ranker@2"] = model(
        lambda *x: x[0],
        inputs={"share": "FP32[N]", "age": "INT32[N]", "price": "FP64[N]"},
        outputs={"y": "FP32[N,1]"},
    )
    shop["ranker"]["model_end_points"] = {"local:ranker@1": 50, "local:ranker@2": 50}
    first, second = shop.step("ranker").arms
    assert [tensor.name for tensor in first.tensors] == ["x"]
    assert [tensor.name for tensor in second.tensors] == ["share", "age", "price"]
    assert [out.tensor for out in (*first.outputs, *second.outputs)] == ["score", "y"]
    assert first.outputs[0].block == second.outputs[0].block


def test_an_arm_that_does_not_fit_is_named_by_its_version(shop: Any) -> None:
    shop.models["ranker@2"] = model(lambda x: x, inputs={"x": "FP32[N,9]"})
    shop["ranker"]["model_end_points"] = {"local:ranker@1": 50, "local:ranker@2": 50}
    [error] = shop.errors()
    assert "model 'ranker' version 2, which takes 'x' FP32[N, 9]" in error


# --- slates -----------------------------------------------------------------------------------


def as_slate_step(shop: Any, inputs: str, **columns: Any) -> None:
    shop.takes("x", inputs, order="FP32[N,1]")
    shop["ranker"]["slate_component"] = True
    shop["blend"]["slate_component"] = True
    shop.reads(**columns)


@pytest.mark.parametrize(
    "inputs",
    [
        "FP32[S,n,2]",  # pages × items × columns
        "FP32[N,2]",  # a page's items are the batch
        "FP32[N,6]",  # three items side by side
        "FP32[N,4]",  # pairs
    ],
)
def test_a_slate_meets_a_model_in_three_ways(shop: Any, inputs: str) -> None:
    as_slate_step(
        shop, inputs, product__attributes__price="FP32", user_category__affinity__share="FP32"
    )
    assert tensors(shop)["x"][1] == 2


def test_slate_level_columns_count_once(shop: Any) -> None:
    as_slate_step(shop, "FP32[N,7]", product__attributes__embedding="FP32Vector", position="FP32")
    [arm] = shop.step("ranker").arms
    [vector, position] = arm.tensors[0].sources
    assert vector.slate is None
    assert (position.target.space, position.slate.space) == ("target", "slate")


def test_a_width_no_number_of_items_makes_is_refused(shop: Any) -> None:
    as_slate_step(shop, "FP32[N,5]", product__attributes__embedding="FP32Vector")
    [error] = shop.errors()
    assert "do not fit model 'ranker'" in error
