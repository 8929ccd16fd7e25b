"""How single values of a config are written: durations, data types, sizes, names.

Each is a pydantic annotation that says in our words what is wrong with a value.
"""

from __future__ import annotations

import re
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from inferflow.dtypes import DType, parse_dtype
from inferflow.errors import InvalidInput

_DURATION = re.compile(r"^\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|s|m|h|d)?\s*$")
_UNIT_MS = {"ms": 1.0, "s": 1e3, "m": 60e3, "h": 3600e3, "d": 86400e3}


def duration_ms(value: object) -> float:
    """Milliseconds of `200ms`, `5s`, `30d`, or a plain number of milliseconds."""
    is_plain = isinstance(value, int | float | str) and not isinstance(value, bool)
    found = _DURATION.match(str(value)) if is_plain else None
    if not found:
        given = repr(value) if is_plain else f"{type(value).__name__}"
        raise ValueError(f"{given} is not a duration; write 200ms, 5s or a number of milliseconds")
    return float(found[1]) * _UNIT_MS[found[2] or "ms"]


def _dtype(value: object) -> object:
    if isinstance(value, DType):
        return value
    if not isinstance(value, str):
        raise ValueError("a data type is a text, such as FP32")
    try:
        return parse_dtype(value)
    except InvalidInput as unknown:
        raise ValueError(str(unknown)) from unknown


def _dtype_or_none(value: object) -> object:
    return None if value is None or value == "" else _dtype(value)


DurationMs = Annotated[float, BeforeValidator(duration_ms)]
OptionalDType = Annotated[DType | None, BeforeValidator(_dtype_or_none)]
Names = Annotated[list[str], BeforeValidator(lambda v: [v] if isinstance(v, str) else v)]
Percent = Annotated[int, Field(ge=0, le=100)]
Seconds = Annotated[float, Field(ge=0)]


def _text(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _size(value: int) -> int:
    if value < 1 and value != -1:
        raise ValueError(f"{value} is not a size; write -1 for one that is worked out")
    return value


def _plain_value(value: object) -> object:
    elements = value if isinstance(value, list) else [value]
    if not all(isinstance(each, str | int | float | bool | None) for each in elements):
        raise ValueError("a default is one value, or a list of them for a vector")
    return value


Text = Annotated[str, BeforeValidator(_text)]
"""A name that is often a number, and then need not be quoted."""
Sizes = list[Annotated[int, AfterValidator(_size)]]
Default = Annotated[Any, AfterValidator(_plain_value)]
