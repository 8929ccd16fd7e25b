"""Data types: what they are called, how they convert, how they look as bytes and as text.

- `kinds`: the thirty types and their spellings
- `casting`: the one conversion table used in every path
- `wire`: little-endian byte codecs
- `text`: the text form of a value, and reading it back
"""

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
    DType,
    dtype_by_code,
    dtype_of,
    parse_dtype,
)

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
    "DType",
    "dtype_by_code",
    "dtype_of",
    "parse_dtype",
]
