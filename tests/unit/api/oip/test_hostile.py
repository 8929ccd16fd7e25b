"""Whatever arrives is read or refused; nothing else happens."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.api.oip.answering import AnswerWriter
from inferflow.api.oip.asking import InputReader, parse_infer, urgency_of
from inferflow.client.oip.datatypes import DATATYPES
from inferflow.dtypes import DTYPES
from inferflow.errors import InvalidRequest
from inferflow.plan.catalog import ModelSignature, TensorInfo

from .worker import Request, Response

SIDES = tuple(
    TensorInfo(name, DTYPES[code], (None, None))
    for name, code in (("f", 4), ("h", 3), ("i", 8), ("u", 13), ("b", 15), ("s", 14))
)
SIGNATURE = ModelSignature("m", "1", SIDES, SIDES, "d")
READER = InputReader(SIGNATURE)

sizes = st.one_of(st.integers(-2, 4), st.sampled_from([2**31, 2**62, 2**63 - 1, -(2**63)]))
values = st.fixed_dictionaries(
    {},
    optional={
        "bool_contents": st.lists(st.booleans(), max_size=3),
        "int_contents": st.lists(st.integers(-(2**31), 2**31 - 1), max_size=3),
        "uint64_contents": st.lists(st.integers(0, 2**64 - 1), max_size=3),
        "fp32_contents": st.lists(st.floats(width=32), max_size=3),
        "bytes_contents": st.lists(st.binary(max_size=4), max_size=3),
    },
)
tensors = st.fixed_dictionaries(
    {
        "name": st.sampled_from(["f", "h", "i", "u", "b", "s", "", "x"]),
        "datatype": st.sampled_from([*DATATYPES, "", "FLOAT"]),
        "shape": st.lists(sizes, max_size=3),
    },
    optional={"contents": values},
)
requests = st.fixed_dictionaries(
    {"model_name": st.sampled_from(["m", ""]), "inputs": st.lists(tensors, max_size=7)},
    optional={
        "raw_input_contents": st.lists(st.binary(max_size=16), max_size=7),
        "outputs": st.lists(st.fixed_dictionaries({"name": st.sampled_from("fhx")}), max_size=3),
        "id": st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    },
)


def read(body: bytes) -> dict[str, Any] | None:
    """What a request says; None when it was refused."""
    try:
        request = parse_infer(body)
        urgency_of(request)
        READER.outputs(request)
        return READER.feed(request)
    except InvalidRequest:
        return None


@pytest.mark.scenario("F1")
@given(st.binary(max_size=200))
def test_random_bytes_are_read_or_refused(body: bytes) -> None:
    read(body)


@given(requests)
def test_random_requests_are_read_or_refused(fields: dict[str, Any]) -> None:
    feed = read(Request(**fields).SerializeToString())
    if feed is not None:
        assert list(feed) == [side.name for side in SIDES]


@given(st.lists(st.integers(0, 3), min_size=2, max_size=2), st.data())
def test_what_fits_is_read_as_it_was_written(shape: list[int], data: st.DataObject) -> None:
    names = {code: name for name, dtype in DATATYPES.items() for code in [dtype.code]}
    request = Request(model_name="m")
    for side in data.draw(st.permutations(SIDES)):
        datatype = "FP32" if side.name == "f" else names[side.dtype.code]
        count = shape[0] * shape[1]
        if side.dtype.is_text:
            raw = b"".join(
                len(each.encode()).to_bytes(4, "little") + each.encode()
                for each in data.draw(st.lists(st.text("aü"), min_size=count, max_size=count))
            )
        elif side.dtype.is_bool:
            raw = bytes(data.draw(st.lists(st.integers(0, 1), min_size=count, max_size=count)))
        else:
            raw = data.draw(st.binary(min_size=count * side.dtype.size)).ljust(1)[
                : count * side.dtype.size
            ]
        request.inputs.add(name=side.name, datatype=datatype, shape=shape)
        request.raw_input_contents.append(raw)
    feed = read(request.SerializeToString())
    assert feed is not None
    answer = Response.FromString(
        AnswerWriter(SIGNATURE).answer("an id", tuple(feed), tuple(feed.values()))
    )
    sent = {t.name: r for t, r in zip(request.inputs, request.raw_input_contents, strict=True)}
    back = {t.name: r for t, r in zip(answer.outputs, answer.raw_output_contents, strict=True)}
    assert back == sent
    assert all(list(each.shape) == shape for each in answer.outputs)
    assert (answer.model_name, answer.model_version, answer.id) == ("m", "1", "an id")
