"""Values as little-endian bytes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.dtypes import (
    BOOL,
    DTYPES,
    FP8E5M2,
    FP16,
    FP32,
    INT16,
    INT64,
    STRING,
    UINT32,
    DType,
    decode,
    encode,
)
from inferflow.errors import CastFailed, EngineFault

FIXED = [dtype for dtype in DTYPES.values() if not dtype.is_text and not dtype.is_bool]


def test_scalars_are_little_endian() -> None:
    assert encode(np.array([1, -2], np.int16), INT16) == [b"\x01\x00", b"\xfe\xff"]
    assert encode(np.array([1.0], np.float32), FP32) == [b"\x00\x00\x80\x3f"]
    assert encode(np.array([1.0], np.float16), FP16) == [b"\x00\x3c"]
    assert encode(np.array([2**31], np.uint32), UINT32) == [b"\x00\x00\x00\x80"]
    assert encode(np.array([0x7D], np.uint8).view(FP8E5M2.numpy), FP8E5M2) == [b"\x7d"]


def test_bools_take_one_byte_each() -> None:
    assert encode(np.array([True, False]), BOOL) == [b"\x01", b"\x00"]
    assert encode(np.array([[True, False, True]]), BOOL.vector) == [b"\x01\x00\x01"]
    assert decode([b"\x01\x00"], BOOL.vector, 2).tolist() == [[True, False]]


def test_a_byte_that_is_no_bool_is_refused() -> None:
    with pytest.raises(CastFailed, match="a Bool is the byte 0 or 1, not 2") as caught:
        decode([b"\x01\x00", b"\x00\x02"], BOOL.vector, 2)
    assert caught.value.position == 1


def test_text_is_utf8_and_other_bytes_survive() -> None:
    assert encode(np.array(["é", ""], object), STRING) == ["é".encode(), b""]
    parts = [b"\xff\xfe", "ключ".encode()]
    assert encode(decode(parts, STRING), STRING) == parts


def test_text_with_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(CastFailed, match="lone surrogate") as caught:
        encode(np.array(["a", "\ud800"], object), STRING)
    assert caught.value.position == 1


def test_a_text_vector_is_its_lengths_and_then_its_texts() -> None:
    rows = np.array([["ab", ""], ["c", "é"]], object)
    parts = encode(rows, STRING.vector)
    assert parts == [b"\x02\x00\x00\x00ab", b"\x01\x00\x02\x00c\xc3\xa9"]
    assert decode(parts, STRING.vector, 2).tolist() == rows.tolist()


def test_an_element_longer_than_its_length_field_is_refused() -> None:
    with pytest.raises(CastFailed, match="65536 bytes where StringVector takes at most 65535"):
        encode(np.array([["x" * 65536]], object), STRING.vector)


@pytest.mark.parametrize(
    ("part", "what"),
    [
        (b"\x01\x00", "2 bytes where StringVector of 2 takes at least 4"),
        (b"\x01\x00\x01\x00a", "5 bytes where this StringVector takes 6"),
        (b"\x01\x00\x00\x00ab", "6 bytes where this StringVector takes 5"),
    ],
)
def test_a_text_vector_whose_lengths_do_not_add_up_is_refused(part: bytes, what: str) -> None:
    with pytest.raises(CastFailed, match=what) as caught:
        decode([b"\x00\x00\x00\x00", part], STRING.vector, 2)
    assert caught.value.position == 1


def test_a_text_vector_of_unknown_length_cannot_be_read() -> None:
    with pytest.raises(CastFailed, match="without its number of elements"):
        decode([b"\x00\x00"], STRING.vector, 0)
    assert decode([b"", b""], STRING.vector, 0).shape == (2, 0)


@pytest.mark.parametrize(
    ("parts", "dtype", "dim", "position", "what"),
    [
        ([b"1234", b"123"], FP32, 1, 1, "3 bytes where FP32 takes 4"),
        ([b"1234", b""], FP32, 1, 1, "0 bytes where FP32 takes 4"),
        ([b"12345678"], FP32, 1, 0, "8 bytes where FP32 takes 4"),
        ([b"1234"], FP32.vector, 2, 0, "4 bytes where FP32Vector takes 8"),
        ([b"1234", b"12345678"], FP32.vector, 0, 1, "8 bytes where FP32Vector takes 4"),
        ([b"123"], INT16.vector, 0, 0, "3 bytes where Int16Vector takes 2"),
    ],
)
def test_wrong_lengths_name_the_row_the_need_and_the_fact(
    parts: list[bytes], dtype: DType, dim: int, position: int, what: str
) -> None:
    with pytest.raises(CastFailed, match=what) as caught:
        decode(parts, dtype, dim)
    assert caught.value.position == position


def test_no_rows_are_no_rows() -> None:
    assert decode([], FP32).shape == (0,)
    assert decode([], FP32.vector, 3).shape == (0, 3)
    assert decode([b"", b""], FP32.vector, 0).shape == (2, 0)
    assert encode(np.empty((2, 0), np.float32), FP32.vector) == [b"", b""]
    assert encode(np.empty(0, np.int64), INT64) == []


def test_decoded_values_may_be_written_to() -> None:
    values = decode([b"\x01\x00"], INT16)
    values[0] = 2
    assert values.tolist() == [2]


def test_an_array_of_another_type_is_not_encoded() -> None:
    with pytest.raises(EngineFault, match="float64 cannot be encoded as FP32"):
        encode(np.array([1.0]), FP32)


def test_a_strided_view_is_encoded_row_by_row() -> None:
    block = np.arange(6, dtype=np.int64).reshape(3, 2)
    assert decode(encode(block[:, 1], INT64), INT64).tolist() == [1, 3, 5]


@given(st.sampled_from(FIXED), st.integers(1, 4), st.data())
def test_any_bytes_of_the_right_length_come_back(dtype: DType, dim: int, data: Any) -> None:
    width = dtype.size * (dim if dtype.is_vector else 1)
    parts = data.draw(st.lists(st.binary(min_size=width, max_size=width), max_size=6))
    assert encode(decode(parts, dtype, dim), dtype) == parts
