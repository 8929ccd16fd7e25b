"""Data types: what they are called, how they convert, how they look as bytes and as text.

- `kinds`: the thirty types and their spellings
- `casting`: the one conversion table used in every path, with `numeric` as its larger half
- `wire`: little-endian byte codecs
- `text`: the text form of a value, and reading it back
"""

from inferflow.dtypes.casting import cast, is_plain
from inferflow.dtypes.kinds import (
    BOOL,
    DTYPES,
    FP8E4M3,
    FP8E5M2,
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
    dtype_by_code,
    dtype_of,
    parse_dtype,
)
from inferflow.dtypes.text import format_text, parse_text
from inferflow.dtypes.wire import decode, encode

__all__ = [
    "BOOL",
    "DTYPES",
    "FP8E4M3",
    "FP8E5M2",
    "FP16",
    "FP32",
    "FP64",
    "INT8",
    "INT16",
    "INT32",
    "INT64",
    "STRING",
    "UINT8",
    "UINT16",
    "UINT32",
    "UINT64",
    "Array",
    "DType",
    "cast",
    "decode",
    "dtype_by_code",
    "dtype_of",
    "encode",
    "format_text",
    "is_plain",
    "parse_dtype",
    "parse_text",
]
