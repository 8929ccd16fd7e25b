"""Requests as the declared messages read them, answers as servers write them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.client.oip.answer import read_answer
from inferflow.client.oip.request import InferRequest
from inferflow.errors import InvalidInput

from ....servers.open_inference import InferRequest as Message
from ....servers.open_inference import InferResponse, add_output, decoded

names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=6)


@given(
    names,
    st.none() | names,
    st.lists(names, min_size=1, max_size=3, unique=True),
    st.lists(names, max_size=3),
    st.integers(0, 300),
)
def test_a_request_reads_as_the_message_it_stands_for(
    model: str, version: str | None, inputs: list[str], outputs: list[str], rows: int
) -> None:
    tensors = [np.full((rows, at + 1), at, np.float32) for at in range(len(inputs))]
    message = Message.FromString(InferRequest(model, version, inputs, outputs).of(tensors))
    wanted = Message(model_name=model, model_version=version or "")
    for name, tensor in zip(inputs, tensors, strict=True):
        wanted.inputs.add(name=name, datatype="FP32", shape=tensor.shape)
        wanted.raw_input_contents.append(tensor.tobytes())
    for name in outputs:
        wanted.outputs.add(name=name)
    assert message == wanted


def test_an_input_that_takes_bf16_is_sent_as_such() -> None:
    request = InferRequest("m", None, ["a", "b"], [], bf16=["b"])
    ones = np.ones((2, 1), np.float32)
    message = Message.FromString(request.of([ones, ones]))
    assert [tensor.datatype for tensor in message.inputs] == ["FP32", "BF16"]
    assert decoded(message.raw_input_contents[1], "BF16", [2]).tolist() == [1, 1]


def raw_answer(**outputs: tuple[str, Any]) -> bytes:
    answer = InferResponse(model_name="m", model_version="7")
    for name, (datatype, values) in outputs.items():
        add_output(answer, name, datatype, np.asarray(values))
    done: bytes = answer.SerializeToString()
    return done


def test_outputs_are_found_by_their_names_in_whatever_order_they_came() -> None:
    body = raw_answer(b=("INT64", [1, 2]), a=("FP32", [[0.5], [1.5]]))
    [a, b], version = read_answer(body, ["a", "b"], {"a": "FP32", "b": "INT64"})
    assert (a.tolist(), b.tolist(), version) == ([[0.5], [1.5]], [1, 2], "7")


def test_values_one_by_one_are_read_as_well() -> None:
    answer = InferResponse()
    lists: dict[str, tuple[str, list[Any]]] = {
        "BOOL": ("bool_contents", [True, False]),
        "INT8": ("int_contents", [-1, 2]),
        "INT64": ("int64_contents", [-1, 2**40]),
        "UINT16": ("uint_contents", [1, 65535]),
        "UINT64": ("uint64_contents", [1, 2**63]),
        "FP32": ("fp32_contents", [0.5, 1.5]),
        "FP64": ("fp64_contents", [0.1, 1.5]),
        "BYTES": ("bytes_contents", [b"x", b"y"]),
    }
    for datatype, (field, values) in lists.items():
        tensor = answer.outputs.add(name=datatype, datatype=datatype, shape=[2])
        getattr(tensor.contents, field).extend(values)
    arrays, _ = read_answer(answer.SerializeToString(), list(lists), {})
    for array, (datatype, (_, values)) in zip(arrays, lists.items(), strict=True):
        wanted = [v.decode() for v in values] if datatype == "BYTES" else values
        assert array.tolist() == wanted


def _with(change: Any) -> bytes:
    answer = InferResponse.FromString(raw_answer(s=("FP32", [[1.0], [2.0]])))
    change(answer)
    done: bytes = answer.SerializeToString()
    return done


def half(answer: Any) -> None:
    answer.outputs[0].datatype = "FP16"
    del answer.raw_output_contents[:]


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"\x0a\xff", "no ModelInferResponse"),
        (raw_answer(), "no output 's'; it has none"),
        (raw_answer(t=("FP32", [1.0])), "no output 's'; it has 't'"),
        (raw_answer(s=("INT64", [1])), "output 's': it came as INT64, and the model declares FP32"),
        (_with(lambda a: a.raw_output_contents.append(b"")), "2 buffer.s. for 1 output"),
        (_with(lambda a: a.outputs[0].shape.append(2)), "8 bytes where FP32 .2, 1, 2. takes 16"),
        (_with(lambda a: a.raw_output_contents.pop()), "0 value.s. where .2, 1. takes 2"),
    ],
)
def test_an_answer_that_is_not_what_was_asked_for_is_refused(body: bytes, what: str) -> None:
    with pytest.raises(InvalidInput, match=what):
        read_answer(body, ["s"], {"s": "FP32"})


def test_half_floats_cannot_come_one_by_one() -> None:
    with pytest.raises(InvalidInput, match="FP16 travels as raw bytes only"):
        read_answer(_with(half), ["s"], {})


@given(st.binary(max_size=80))
def test_any_bytes_are_an_answer_or_refused(body: bytes) -> None:
    try:
        arrays, _ = read_answer(body, ["s"], {})
    except InvalidInput:
        return
    assert len(arrays) == 1
