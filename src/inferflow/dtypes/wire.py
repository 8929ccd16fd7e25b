"""Values as little-endian bytes, one `bytes` per row.

Scalars take their own width, Bool one byte; vectors lay their elements back to back
(one byte per Bool). A String is its UTF-8, and bytes that are not UTF-8 survive the round
trip. A StringVector is one 16-bit length per element, then the texts without separators.
"""

from __future__ import annotations

import struct
from collections.abc import Sequence

import numpy as np

from inferflow.dtypes.kinds import Array, DType
from inferflow.errors import CastFailed, EngineFault

_LONGEST = 0xFFFF
"""Bytes one element of a StringVector can have."""


def encode(values: Array, dtype: DType) -> list[bytes]:
    """The bytes of each row. `values` already are of this type: [rows] or [rows, elements]."""
    if dtype.is_text:
        rows = values.tolist()
        if dtype.is_vector:
            return [_encode_texts(row, position) for position, row in enumerate(rows)]
        return [_encode_text(text, position) for position, text in enumerate(rows)]
    if values.dtype != dtype.numpy:
        raise EngineFault(f"an array of {values.dtype} cannot be encoded as {dtype.name}")
    width = dtype.size * (values.shape[1] if dtype.is_vector else 1)
    if width == 0:
        return [b""] * len(values)
    joined = values.tobytes()
    return [joined[start : start + width] for start in range(0, len(joined), width)]


def decode(parts: Sequence[bytes], dtype: DType, dim: int = 1) -> Array:
    """[rows] for a scalar type, [rows, dim] for a vector.

    A `dim` of 0 takes whatever length the rows have, as long as it is the same for all.
    """
    if dtype.is_text:
        return _decode_string_vectors(parts, dim) if dtype.is_vector else _decode_strings(parts)
    if not dtype.is_vector:
        dim = 1
    elif dim == 0 and parts:
        dim = len(parts[0]) // dtype.size
    width = dim * dtype.size
    if parts and set(map(len, parts)) != {width}:
        raise _wrong_length(parts, dtype, width)
    joined = bytearray().join(parts)
    if dtype.is_bool:
        _check_bools(joined, dim)
    flat = np.frombuffer(joined, dtype.numpy)
    return flat.reshape(len(parts), dim) if dtype.is_vector else flat


def _wrong_length(parts: Sequence[bytes], dtype: DType, width: int) -> CastFailed:
    position = next(at for at, part in enumerate(parts) if len(part) != width)
    what = f"{len(parts[position])} bytes where {dtype.name} takes {width}"
    return CastFailed(what, position=position)


def _check_bools(joined: bytearray, dim: int) -> None:
    wrong = np.flatnonzero(np.frombuffer(joined, np.uint8) > 1)
    if len(wrong):
        at = int(wrong[0])
        raise CastFailed(f"a Bool is the byte 0 or 1, not {joined[at]}", position=at // dim)


# --- text -----------------------------------------------------------------------------------


def _encode_text(text: str, position: int) -> bytes:
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        raise CastFailed(
            "text with a lone surrogate has no UTF-8 form", position=position
        ) from None


def _encode_texts(row: Sequence[str], position: int) -> bytes:
    encoded = [_encode_text(text, position) for text in row]
    longest = max(map(len, encoded), default=0)
    if longest > _LONGEST:
        what = f"an element of {longest} bytes where StringVector takes at most {_LONGEST}"
        raise CastFailed(what, position=position)
    return struct.pack(f"<{len(row)}H", *map(len, encoded)) + b"".join(encoded)


def _decode_strings(parts: Sequence[bytes]) -> Array:
    out = np.empty(len(parts), object)
    out[:] = [part.decode("utf-8", "surrogateescape") for part in parts]
    return out


def _decode_string_vectors(parts: Sequence[bytes], dim: int) -> Array:
    if dim == 0 and any(parts):
        raise CastFailed("a StringVector cannot be read without its number of elements")
    for position, part in enumerate(parts):  # before anything of the claimed size is made
        if len(part) < 2 * dim:
            what = f"{len(part)} bytes where StringVector of {dim} takes at least {2 * dim}"
            raise CastFailed(what, position=position)
    out = np.empty((len(parts), dim), object)
    for position, part in enumerate(parts):
        lengths = struct.unpack_from(f"<{dim}H", part)
        if len(part) != 2 * dim + sum(lengths):
            expected = 2 * dim + sum(lengths)
            what = f"{len(part)} bytes where this StringVector takes {expected}"
            raise CastFailed(what, position=position)
        start = 2 * dim
        for column, length in enumerate(lengths):
            out[position, column] = part[start : start + length].decode("utf-8", "surrogateescape")
            start += length
    return out
