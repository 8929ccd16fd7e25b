"""Numbers as JSON has them: in their shortest form, and as texts where it has no word for them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import orjson

from inferflow.dtypes import Array


def listed_floats(values: Array) -> list[Any]:
    """Floats of an array, each by the shortest text that reads back as the same in its own type:
    a float32 of 41.02 is 41.02, and not what a float64 makes of it."""
    values = np.ascontiguousarray(values)
    if values.dtype != np.float64:
        values = values.astype(np.float32, copy=False)
    told: list[Any] = orjson.loads(orjson.dumps(values, option=orjson.OPT_SERIALIZE_NUMPY))
    for at in np.argwhere(~np.isfinite(values)):
        row = told
        for index in at[:-1]:
            row = row[index]
        row[at[-1]] = said(values[tuple(at)].item())
    return told


def said(value: Any) -> Any:
    """A number, or values in lists, with "NaN", "+Inf" and "-Inf" where JSON has no form."""
    if isinstance(value, list):
        return [said(each) for each in value]
    if not isinstance(value, float) or math.isfinite(value):
        return value
    if math.isnan(value):
        return "NaN"
    return "+Inf" if value > 0 else "-Inf"
