"""Tensors as bytes: what leaves comes back, and what does not fit is refused."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from inferflow.client.oip.datatypes import (
    BF16,
    DATATYPES,
    datatype_of,
    from_bytes,
    from_list,
    to_bytes,
)
from inferflow.dtypes import DTYPES
from inferflow.errors import InvalidInput

from ....servers.open_inference import KINDS, decoded

NUMERIC = sorted(set(KINDS) - {BF16})
shapes = hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4)


@given(st.data(), st.sampled_from(NUMERIC), shapes)
def test_numbers_of_every_type_come_back_as_they_left(data: Any, name: str, shape: Any) -> None:
    values = data.draw(hnp.arrays(DATATYPES[name].numpy, shape))
    raw = to_bytes(values, name)
    back = from_bytes(raw, name, shape)
    assert back.dtype == values.dtype
    assert raw == np.ascontiguousarray(values).tobytes()
    np.testing.assert_array_equal(back, values)


@given(st.lists(st.text()))
def test_texts_come_back_as_they_left(texts: list[str]) -> None:
    values = np.empty(len(texts), object)
    values[:] = [text.encode("utf-8", "replace").decode() for text in texts]
    raw = to_bytes(values, "BYTES")
    assert from_bytes(raw, "BYTES", [len(texts)]).tolist() == values.tolist()
    assert decoded(raw, "BYTES", [len(texts)]).tolist() == values.tolist()


def test_bytes_that_are_no_text_survive_the_round_trip() -> None:
    values = np.array([b"\xff\x00abc".decode("utf-8", "surrogateescape")], object)
    raw = to_bytes(values, "BYTES")
    assert raw[4:] == b"\xff\x00abc"
    assert from_bytes(raw, "BYTES", [1]).tolist() == values.tolist()


@given(hnp.arrays(np.float32, shapes, elements=st.floats(width=32)))
def test_bf16_is_rounded_to_the_nearest_on_its_way_out_and_exact_on_its_way_in(
    values: Any,
) -> None:
    with np.errstate(over="ignore"):
        nearest = values.astype(ml_dtypes.bfloat16).astype(np.float32)
        back = from_bytes(to_bytes(values, BF16), BF16, values.shape)
    assert back.dtype == np.float32
    np.testing.assert_array_equal(back, nearest)


def test_a_slice_of_a_larger_array_leaves_in_order() -> None:
    values = np.arange(12, dtype=np.float32).reshape(3, 4)[:, 1:3]
    assert np.frombuffer(to_bytes(values, "FP32"), np.float32).tolist() == [1, 2, 5, 6, 9, 10]


@pytest.mark.parametrize("name", ["FP8E5M2", "FP8E4M3"])
def test_the_protocol_has_no_8_bit_floats(name: str) -> None:
    [dtype] = [dtype for dtype in DTYPES.values() if dtype.name == name]
    with pytest.raises(InvalidInput, match=f"{name} has no name in the Open Inference Protocol"):
        datatype_of(np.zeros(2, dtype.numpy))


def test_every_other_type_has_a_name_that_means_it() -> None:
    for dtype in DTYPES.values():
        if dtype.name.startswith("FP8") or dtype.is_vector:
            continue
        assert DATATYPES[datatype_of(np.zeros(1, dtype.numpy))] is dtype


@pytest.mark.parametrize(
    ("raw", "datatype", "shape", "what"),
    [
        (b"\0" * 11, "FP32", [3], "11 bytes where FP32 \\[3\\] takes 12"),
        (b"\0" * 4, "FP32", [-1], "is no shape"),
        (b"\0" * 4, "FP12", [1], "'FP12' is no type"),
        (b"\2", "BOOL", [1], "the byte 0 or 1"),
        (b"\1\0\0", "BYTES", [1], "3 bytes do not hold 1 text"),
        (b"\5\0\0\0abc", "BYTES", [1], "do not hold"),
        (b"\3\0\0\0abc", "BYTES", [2], "do not hold 2"),
        (b"\3\0\0\0abcxx", "BYTES", [1], "do not hold"),
        (b"", "BYTES", [10**12], "do not hold"),
    ],
)
def test_bytes_that_do_not_make_the_tensor_are_refused(
    raw: bytes, datatype: str, shape: list[int], what: str
) -> None:
    with pytest.raises(InvalidInput, match=what):
        from_bytes(raw, datatype, shape)


@given(st.binary(max_size=64), st.sampled_from([*KINDS, "BYTES", "X"]), st.lists(st.integers()))
def test_whatever_a_server_sends_is_an_array_or_refused(
    raw: bytes, datatype: str, shape: list[int]
) -> None:
    try:
        array = from_bytes(raw, datatype, shape)
    except InvalidInput:
        return
    assert list(array.shape) == shape


def test_values_that_came_one_by_one_are_checked_too() -> None:
    assert from_list([1, 2], "INT8", [2, 1]).tolist() == [[1], [2]]
    assert from_list([b"a", b"b"], "BYTES", [2]).tolist() == ["a", "b"]
    with pytest.raises(InvalidInput, match="1 value\\(s\\) where \\[2\\] takes 2"):
        from_list([1], "INT8", [2])
    with pytest.raises(InvalidInput, match="out of range for UINT8"):
        from_list([300], "UINT8", [1])
