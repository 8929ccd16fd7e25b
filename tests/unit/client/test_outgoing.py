"""A request in its wire form: what the generated messages read in it, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow._proto import messages
from inferflow.api.values import declared_schema, read_column, read_value
from inferflow.client.outgoing import outgoing
from inferflow.dtypes import DTYPES, DType
from inferflow.engine.limits import Limits
from inferflow.engine.request import ScoreRequest
from inferflow.errors import InvalidRequest

MESSAGES = {
    "InferPointWise": messages.PointWiseRequest,
    "InferPairWise": messages.PairWiseRequest,
    "InferSlateWise": messages.SlateWiseRequest,
}


def sent(encoding: Any = "typed", **parts: Any) -> Any:
    """The message a server gets."""
    made = outgoing(ScoreRequest("c", **parts), encoding)
    return MESSAGES[made.method].FromString(made.body)


def context_of(message: Any) -> dict[str, Any]:
    schema = declared_schema(message.context_features, "context_features", Limits())
    return {
        entry.name: read_value(each.value, entry, "typed", "context_features")
        for each, entry in zip(message.context_features, schema, strict=True)
    }


def columns_of(schema: Any, rows: Any) -> dict[str, Any]:
    declared = declared_schema(schema, "schema", Limits())
    return {
        entry.name: read_column([row.feature_values[at] for row in rows], entry, "typed", "rows")
        for at, entry in enumerate(declared)
    }


@pytest.mark.parametrize(
    ("entities", "ids", "others"),
    [
        ({"user": "7", "product": ["1", "2"]}, ["1", "2"], {"user": "7"}),
        ({"product": ["1", "2"], "user": 7}, ["1", "2"], {"user": "7"}),
        ({"product": ["1"], "user": "7"}, ["1"], {"user": "7"}),
        ({"user": "7", "product": "1"}, ["1"], {"user": "7"}),
        ({"user": ["7"], "product": np.array([1, 2])}, ["1", "2"], {"user": "7"}),
        ({"product": pd.Series([5, 6])}, ["5", "6"], {}),
    ],
)
def test_the_entity_with_many_ids_are_the_targets_and_the_others_context(
    entities: Any, ids: list[str], others: dict[str, str]
) -> None:
    message = sent(entities=entities)
    assert [target.id for target in message.targets] == ids
    assert context_of(message) == others


@st.composite
def arrays(draw: st.DrawFn) -> tuple[DType, Any]:
    dtype = draw(st.sampled_from([*DTYPES.values()]))
    shape = (3, draw(st.integers(1, 4))) if dtype.is_vector else (3,)
    size = int(np.prod(shape))
    if dtype.is_text:
        values = np.empty(shape, object)
        values.reshape(-1)[:] = [draw(st.text(max_size=5)) for _ in range(size)]
        return dtype, values
    raw = draw(st.binary(min_size=size * dtype.size, max_size=size * dtype.size))
    raw = bytes(byte & 1 for byte in raw) if dtype.is_bool else raw
    return dtype, np.frombuffer(raw, dtype.numpy).reshape(shape)


@given(arrays())
def test_arrays_arrive_as_they_were_given(column: tuple[DType, Any]) -> None:
    dtype, values = column
    features = {"product": {"x": values}}
    message = sent(entities={"product": ["1", "2", "3"]}, features=features)
    (entry,) = message.target_input_schema
    assert entry.data_type == dtype.code
    read = columns_of(message.target_input_schema, message.targets)["x"]
    assert read.shape == values.shape
    assert read.tobytes() == values.tobytes() if not dtype.is_text else (read == values).all()


@given(arrays())
def test_a_context_value_arrives_as_it_was_given(column: tuple[DType, Any]) -> None:
    dtype, values = column
    read = context_of(sent(entities={"product": ["1"]}, context={"x": values[0]}))["x"]
    if dtype.is_text:
        assert np.all(read == values[0])
    else:
        assert read.dtype == values.dtype
        assert read.tobytes() == values[0].tobytes()


def test_a_value_for_all_targets_is_repeated_for_each() -> None:
    message = sent(
        entities={"user": "7", "product": ["1", "2"]},
        features={"user": {"age": 30}, "product": {"v": [[1.0, 2.0]]}},
    )
    read = columns_of(message.target_input_schema, message.targets)
    assert read["age"].tolist() == [30, 30]
    assert read["v"].tolist() == [[1.0, 2.0]] * 2


def test_a_feature_of_a_group_takes_its_entity_along() -> None:
    message = sent(
        entities={"product": ["1"]},
        features={"product": {"attributes:price": [1.0], "user:profile:age": [2], "boost": [3]}},
    )
    assert [entry.name for entry in message.target_input_schema] == [
        "product:attributes:price",
        "user:profile:age",
        "boost",
    ]


def test_a_frame_is_its_columns() -> None:
    frame = pd.DataFrame(
        {
            "boost": np.array([1, 2], np.float32),
            "title": ["a", "b"],
            "vector": [[1.0, 2.0], [3.0, 4.0]],
            "count": pd.array([1, 2], dtype="Int64"),
        }
    )
    message = sent(entities={"product": ["1", "2"]}, features={"product": frame})
    read = columns_of(message.target_input_schema, message.targets)
    assert read["boost"].dtype == np.float32
    assert read["title"].tolist() == ["a", "b"]
    assert read["vector"].tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert read["count"].tolist() == [1, 2]


def test_text_configs_get_text_whatever_was_given() -> None:
    message = sent(
        "text",
        entities={"product": ["1", "2"]},
        context={"hour": 20, "v": [1.5, 2.5]},
        features={"product": {"price": np.array([0.1, 2], np.float32)}},
    )
    assert context_of(message) == {"hour": "20", "v": "1.5,2.5"}
    read = columns_of(message.target_input_schema, message.targets)
    assert read["price"].tolist() == ["0.1", "2"]


def test_pairs_and_slates_go_with_their_values() -> None:
    entities = {"product": ["1", "2", "3"]}
    pairs = sent(
        entities=entities, pairs=np.array([[0, 1], [2, 0]]), slate_features={"gap": [1, 2]}
    )
    assert [(p.first_target_index, p.second_target_index) for p in pairs.pairs] == [(0, 1), (2, 0)]
    assert columns_of(pairs.pair_input_schema, pairs.pairs)["gap"].tolist() == [1, 2]
    slates = sent(entities=entities, slates=[[0, 1, 2], [1]], slate_features={"seen": 0.5})
    assert [list(s.target_indices) for s in slates.slates] == [[0, 1, 2], [1]]
    assert columns_of(slates.slate_input_schema, slates.slates)["seen"].tolist() == [0.5, 0.5]
    assert len(sent(entities=entities, slates=[[0]]).slates) == 1


@pytest.mark.parametrize(
    ("parts", "place", "what"),
    [
        ({"entities": {}}, "entities", "names no entity"),
        ({"entities": [1]}, "entities", "not list"),
        ({"entities": {"p": []}}, "entities.p", "has no ids"),
        ({"entities": {"p": ["1", None]}}, r"entities.p\[1\]", "cannot be empty"),
        ({"entities": {"p": ["1", "2"], "u": ["3", "4"]}}, "entities.u", "one entity has many ids"),
        ({"entities": {"p": "1"}, "context": {"p": 1}}, "context.p", "name of entity"),
        ({"entities": {"p": "1"}, "context": {"x": None}}, "context.x", "not a plain value"),
        ({"entities": {"p": "1"}, "context": {"x": [[1]]}}, "context.x", "too deep"),
        ({"entities": {"p": "1"}, "context": {"x": []}}, "context.x", "no elements"),
        ({"entities": {"p": "1"}, "context": {1: 1}}, "context", "a name is text"),
        ({"entities": {"p": "1"}, "context": {"\ud800": 1}}, "context", "surrogate"),
        ({"entities": {"p": "1"}, "context": {"x": 1j}}, "context.x", "complex128"),
        ({"entities": {"p": "1"}, "features": {"p": 1}}, "features.p", "not int"),
        ({"entities": {"p": "1"}, "features": {"p": {"x": [1, 2]}}}, "features.p.x", "2 value"),
        (
            {"entities": {"p": "1"}, "features": {"p": {"x": 1}, "u": {"x": 1}}},
            "features.u.x",
            "given twice",
        ),
        ({"entities": {"p": "1"}, "pairs": [[0, 1]]}, r"pairs\[0\]", "1"),
        ({"entities": {"p": "1"}, "pairs": [[0, 0]], "slates": [[0]]}, "slates", "not both"),
        ({"entities": {"p": "1"}, "slate_features": {"x": 1}}, "slate_features", "no pairs"),
        ({"entities": {"p": "1"}, "tracking_id": 7}, "tracking_id", "is text"),
    ],
)
def test_what_has_no_wire_form_is_refused_with_its_place(
    parts: dict[str, Any], place: str, what: str
) -> None:
    with pytest.raises(InvalidRequest, match=rf"^{place}.*{what}"):
        sent(**parts)
