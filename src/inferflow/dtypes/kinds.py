"""The fifteen scalar types, their vectors, and every spelling people use for them.

A `DType` is one of thirty values that exist once each; compare them with `is` or `==`.
Numbers are the wire's own (1–15 scalars, 16–30 their vectors in the same order).
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np

from inferflow.errors import InvalidInput

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class DType:
    """One data type. `numpy` is the type of one element; strings use `object`."""

    name: str
    """Canonical spelling: FP32, Int64, String, FP32Vector."""
    code: int
    """The number this type has on the wire."""
    numpy: np.dtype[Any]
    is_vector: bool
    is_text: bool

    @property
    def size(self) -> int:
        """Bytes of one element; 0 for text, which has no fixed size."""
        return 0 if self.is_text else self.numpy.itemsize

    @property
    def is_float(self) -> bool:
        return self.name.startswith("FP")

    @property
    def is_bool(self) -> bool:
        return self.name.startswith("Bool")

    @property
    def element(self) -> DType:
        """The scalar type of one element; a scalar is its own element."""
        return DTYPES[self.code - 15] if self.is_vector else self

    @property
    def vector(self) -> DType:
        """The vector type with this element; a vector is its own."""
        return self if self.is_vector else DTYPES[self.code + 15]

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> tuple[Any, ...]:
        return (dtype_by_code, (self.code,))


_SCALARS: tuple[tuple[str, Any], ...] = (
    ("FP8E5M2", ml_dtypes.float8_e5m2),
    ("FP8E4M3", ml_dtypes.float8_e4m3fn),
    ("FP16", "<f2"),
    ("FP32", "<f4"),
    ("FP64", "<f8"),
    ("Int8", "i1"),
    ("Int16", "<i2"),
    ("Int32", "<i4"),
    ("Int64", "<i8"),
    ("Uint8", "u1"),
    ("Uint16", "<u2"),
    ("Uint32", "<u4"),
    ("Uint64", "<u8"),
    ("String", object),
    ("Bool", np.bool_),
)

DTYPES: dict[int, DType] = {
    code + 15 * vector: DType(
        name + "Vector" * vector, code + 15 * vector, np.dtype(kind), bool(vector), name == "String"
    )
    for vector in (0, 1)
    for code, (name, kind) in enumerate(_SCALARS, start=1)
}

FP8E5M2, FP8E4M3, FP16, FP32, FP64 = (DTYPES[code] for code in range(1, 6))
INT8, INT16, INT32, INT64 = (DTYPES[code] for code in range(6, 10))
UINT8, UINT16, UINT32, UINT64 = (DTYPES[code] for code in range(10, 14))
STRING, BOOL = DTYPES[14], DTYPES[15]

_ALIASES: dict[str, tuple[str, ...]] = {
    "FP8E5M2": ("float8_e5m2", "f8e5m2"),
    "FP8E4M3": ("float8_e4m3", "float8_e4m3fn"),
    "FP16": ("float16", "f16", "half"),
    "FP32": ("float32", "f32", "float"),
    "FP64": ("float64", "f64", "double"),
    "Int8": ("i8",),
    "Int16": ("i16", "short"),
    "Int32": ("i32", "int"),
    "Int64": ("i64", "long"),
    "Uint8": ("u8",),
    "Uint16": ("u16",),
    "Uint32": ("u32",),
    "Uint64": ("u64",),
    "String": ("str", "bytes"),
    "Bool": ("boolean",),
}


def _spellings() -> dict[str, DType]:
    table: dict[str, DType] = {}
    for code in range(1, 16):
        scalar = DTYPES[code]
        for alias in (scalar.name, *_ALIASES[scalar.name]):
            word = alias.lower()
            table[word] = table["datatype" + word] = scalar
            for vector in (word + "vector", word + "_vector", "vector_" + word):
                table[vector] = table["datatype" + vector] = scalar.vector
    return table


SPELLINGS: dict[str, DType] = _spellings()
"""Every accepted spelling, in lower case."""


def parse_dtype(text: str) -> DType:
    """The type a spelling means, in any case: `FP32`, `DataTypeFP32`, `float`, `vector_fp32`."""
    found = SPELLINGS.get(text.strip().lower()) if isinstance(text, str) else None
    if found is not None:
        return found
    nearest = difflib.get_close_matches(str(text).lower(), SPELLINGS, n=1)
    meant = f"; did you mean {SPELLINGS[nearest[0]].name!r}?" if nearest else ""
    raise InvalidInput(f"{text!r} is not a data type{meant}")


def dtype_by_code(code: int) -> DType:
    """The type with this wire number."""
    try:
        return DTYPES[code]
    except KeyError:
        raise InvalidInput(f"{code} is not a data type number (1 to 30)") from None


_NATURAL: dict[np.dtype[Any], DType] = {
    dtype.numpy: dtype for dtype in DTYPES.values() if not dtype.is_vector and not dtype.is_text
}


def dtype_of(values: Array) -> DType:
    """The type an array already has: rows of scalars, or 2-D for vectors."""
    kind = values.dtype
    scalar = STRING if kind.kind in "OUST" else _NATURAL.get(kind.newbyteorder("<"))
    if scalar is None:
        raise InvalidInput(f"arrays of {kind} have no Inferflow data type")
    return scalar.vector if values.ndim == 2 else scalar
