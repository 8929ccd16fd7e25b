"""The one text a key value has, whatever type it came in.

7, 7.0, INT32 7 and the text `7` are the same key. What has no such text (nothing, NaN, an empty
string) is refused rather than stored under a name nobody will ask for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from inferflow.dtypes.kinds import Array, dtype_of
from inferflow.dtypes.text import format_text
from inferflow.errors import CastFailed, InvalidInput


def canonical_key(value: object) -> str:
    """The key text of one value. Raises InvalidInput when there is none."""
    if type(value) is str and value and value.isascii():
        return value
    if isinstance(value, str):
        return _text(str(value))
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, bytes):
        return _text(_decoded(value))
    if isinstance(value, float | np.generic):
        return _float(np.asarray(value).reshape(1))
    raise InvalidInput(f"a key cannot be {'empty' if value is None else type(value).__name__}")


def canonical_keys(values: Array | Sequence[Any]) -> list[str]:
    """`canonical_key` over a column. Raises CastFailed with the row that has no key."""
    if isinstance(values, np.ndarray) and values.dtype.kind in "iu":
        return [str(value) for value in values.tolist()]
    keys: list[str] = []
    for position, value in enumerate(values):
        try:
            keys.append(canonical_key(value))
        except InvalidInput as refused:
            raise CastFailed(str(refused), position=position) from None
    return keys


def _float(one: Array) -> str:
    dtype = dtype_of(one)
    number = float(one[0])
    if not math.isfinite(number):
        raise InvalidInput(f"a key cannot be {number}")
    return str(int(number)) if number.is_integer() else format_text(one, dtype)[0]


def _text(text: str) -> str:
    if not text:
        raise InvalidInput("a key cannot be empty")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidInput(f"key {text!r} holds half a surrogate pair") from None
    return text


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise InvalidInput(f"key {value!r} is not UTF-8 text") from None
