"""The protocol's types, and tensors as the bytes they travel in.

Numbers are little-endian, row by row; a BOOL is one byte; an element of BYTES is its length in
four bytes, then itself. BF16 has no type of ours: its values are FP32 here, rounded to the nearest
when they leave and exact when they come. The 8-bit floats have no name in the protocol.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import ml_dtypes
import numpy as np

from inferflow.dtypes import (
    BOOL,
    FP16,
    FP32,
    FP64,
    INT8,
    INT16,
    INT32,
    INT64,
    STRING,
    UINT8,
    UINT16,
    UINT32,
    UINT64,
    Array,
    DType,
    dtype_of,
)
from inferflow.errors import InvalidInput

BF16 = "BF16"
BYTES = "BYTES"

DATATYPES: dict[str, DType] = {
    "BOOL": BOOL,
    "UINT8": UINT8,
    "UINT16": UINT16,
    "UINT32": UINT32,
    "UINT64": UINT64,
    "INT8": INT8,
    "INT16": INT16,
    "INT32": INT32,
    "INT64": INT64,
    "FP16": FP16,
    "FP32": FP32,
    "FP64": FP64,
    BYTES: STRING,
    BF16: FP32,
}

DATATYPE_NAMES: dict[DType, str] = {
    dtype: name for name, dtype in DATATYPES.items() if name != BF16
}
_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_LENGTH = 4


def datatype_of(values: Array) -> str:
    """What the protocol calls the elements of an array. Raises InvalidInput."""
    dtype = dtype_of(values).element
    name = DATATYPE_NAMES.get(dtype)
    if name is None:
        raise InvalidInput(f"{dtype.name} has no name in the Open Inference Protocol; use FP16")
    return name


def to_bytes(values: Array, datatype: str) -> bytes:
    """An array as it travels. Its own type is what `datatype` names, or FP32 for BF16."""
    if datatype == BYTES:
        return b"".join(map(_prefixed, values.ravel().tolist()))
    if datatype == BF16:
        return values.astype(_BFLOAT16).tobytes()
    return values.tobytes()


def _prefixed(text: str | bytes) -> bytes:
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    return len(data).to_bytes(_LENGTH, "little") + data


def from_bytes(raw: bytes, datatype: str, shape: Sequence[int]) -> Array:
    """The array of so many dimensions. Raises InvalidInput when the bytes do not make it."""
    dtype, count = _known(datatype), _count(shape)
    if datatype == BYTES:
        return _shaped(_texts(raw, count), shape)
    kind = _BFLOAT16 if datatype == BF16 else dtype.numpy
    if len(raw) != count * kind.itemsize:
        raise InvalidInput(
            f"{len(raw)} bytes where {datatype} {list(shape)} takes {count * kind.itemsize}"
        )
    flat: Array = np.frombuffer(raw, kind)
    if datatype == "BOOL" and (flat.view(np.uint8) > 1).any():
        raise InvalidInput("a BOOL is the byte 0 or 1")
    if datatype == BF16:
        flat = flat.astype(np.float32)
    return _shaped(flat, shape)


def from_list(values: Sequence[object], datatype: str, shape: Sequence[int]) -> Array:
    """The same of values that came one by one."""
    dtype, count = _known(datatype), _count(shape)
    if len(values) != count:
        raise InvalidInput(f"{len(values)} value(s) where {list(shape)} takes {count}")
    if datatype != BYTES:
        try:
            # As a plain list: protobuf's own would be cut to the type without a word.
            return _shaped(np.asarray(list(values), dtype=dtype.numpy), shape)
        except OverflowError as outside:
            raise InvalidInput(f"a value is out of range for {datatype}") from outside
    texts = np.empty(count, object)
    texts[:] = [_text(each) if isinstance(each, bytes) else each for each in values]
    return _shaped(texts, shape)


def _known(datatype: str) -> DType:
    try:
        return DATATYPES[datatype]
    except KeyError:
        raise InvalidInput(f"{datatype!r} is no type of the Open Inference Protocol") from None


def _count(shape: Sequence[int]) -> int:
    if any(size < 0 for size in shape):
        raise InvalidInput(f"{list(shape)} is no shape")
    return prod(shape)


def _shaped(flat: Array, shape: Sequence[int]) -> Array:
    try:
        return flat.reshape(shape)
    except (ValueError, OverflowError):  # nothing, in sizes that no array has
        raise InvalidInput(f"{list(shape)} is no shape") from None


def _texts(raw: bytes, count: int) -> Array:
    """So many texts. The number is checked by reading them, for it is only what a server claims."""
    found: list[str] = []
    at = 0
    while at + _LENGTH <= len(raw):
        begin = at + _LENGTH
        at = begin + int.from_bytes(raw[at:begin], "little")
        if at > len(raw):
            break
        found.append(_text(raw[begin:at]))
    if at != len(raw) or len(found) != count:
        raise InvalidInput(f"{len(raw)} bytes do not hold {count} text(s)")
    texts = np.empty(count, object)
    texts[:] = found
    return texts


def _text(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
