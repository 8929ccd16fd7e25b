"""The root of every graph: rows from ids, and the columns the request brings."""

from __future__ import annotations

from typing import Any

import numpy as np

from inferflow.dtypes import STRING, dtype_of
from inferflow.dtypes.casting import cast
from inferflow.engine.binding import Origin
from inferflow.engine.matrix import Array, text_block
from inferflow.engine.run import Run
from inferflow.errors import CastFailed, EngineFault, InvalidInput, InvalidRequest
from inferflow.plan.plan import RequestColumn, Step


class InitComponent:
    is_local = True

    def __init__(self, step: Step) -> None:
        self.step = step

    async def run(self, run: Run) -> None:
        matrix = run.matrix
        for requested, origin in run.binding.targets:
            assert requested.target is not None
            keys = None if requested.dtype is not None else _keys(requested, origin, run)
            if keys is not None:
                matrix.put_keys(requested.target.block, keys)
                continue
            values = requested_values(requested, origin, run)
            _check_count(len(values), origin, run)
            matrix.put(requested.target.block, values)
        for requested, origin in run.binding.slates:
            assert requested.slate is not None
            values = requested_values(requested, origin, run)
            _check_count(len(values), origin, run)
            matrix.put(requested.slate.block, values)
        for origin in run.binding.spare:
            given = _given(origin, run)
            if isinstance(given, list | tuple) or (isinstance(given, np.ndarray) and given.ndim):
                _check_count(len(given), origin, run)
        record = run.record(self.step)
        if record is not None:
            record.rows = matrix.rows

    def fill_defaults(self, run: Run) -> None:
        raise EngineFault(f"{run.plan.config_id!r}: the root step has nothing to fall back on")

    leave_blank = fill_defaults


def _check_count(count: int, origin: Origin, run: Run) -> None:
    """Whether there is one value for all, or one for each."""
    wanted, what = run.matrix.rows, "target(s)"
    if origin.kind == "slate":
        wanted, what = run.matrix.slates, str(run.slates.kind if run.slates else "slates")
    if count not in (1, wanted):
        raise InvalidRequest(str(origin), f"{count} value(s) for {wanted} {what}")


def _given(origin: Origin, run: Run) -> Any:
    """What the request says there, as it says it."""
    request = run.request
    if origin.kind == "inline":
        return request.features[origin.entity][origin.name]
    return (request.slate_features if origin.kind == "slate" else request.context)[origin.name]


def _keys(requested: RequestColumn, origin: Origin, run: Run) -> list[str] | None:
    """The values of a column that nobody gave a type, if they are known to be key texts."""
    if origin.kind == "entity":
        return run.entities[origin.name]
    if origin.kind != "context" or requested.width not in (None, 1):
        return None
    given = run.request.context[origin.name]
    return [given] if type(given) is str and given and given.isascii() else None


def requested_values(requested: RequestColumn, origin: Origin, run: Run) -> Array:
    """The part of the request an origin names, as a block of rows."""
    if origin.kind == "entity":
        ids = text_block(run.entities[origin.name])
        typed = requested.dtype is not None
        return typed_block(ids, requested, str(origin), is_row=False) if typed else ids
    given = requested.default if origin.kind == "default" else _given(origin, run)
    is_row = origin.kind in ("context", "default")
    return typed_block(given, requested, str(origin), is_row=is_row)


def typed_block(given: Any, requested: RequestColumn, field: str, *, is_row: bool) -> Array:
    """Values as they came, in the type their readers declare. `is_row`: one value for all rows,
    so that a list is one vector and not one value per row."""
    values = as_array(given, field)
    if values.ndim > (1 if is_row else 2):
        raise InvalidRequest(field, f"values of {values.ndim} dimensions are too deep")
    if is_row or values.ndim == 0:
        values = values.reshape(1, -1)
    elif values.ndim == 1:
        values = values.reshape(-1, 1)
    if values.shape[1] == 0:
        raise InvalidRequest(field, "a value has no elements")
    try:
        own = STRING if values.dtype.kind == "O" else dtype_of(values[:, 0])
        wanted = requested.dtype
        if wanted is not None and wanted.is_vector and own.is_text and values.shape[1] == 1:
            values = cast(values[:, 0], own, wanted)
        elif wanted is not None:
            values = cast(values, own.vector, wanted.element.vector)
    except CastFailed as failed:
        place = field if failed.position is None or is_row else f"{field}[{failed.position}]"
        raise InvalidRequest(place, failed.what) from failed
    except InvalidInput as failed:
        raise InvalidRequest(field, str(failed)) from failed
    if requested.width is not None and values.shape[1] != requested.width:
        raise InvalidRequest(
            field, f"has {values.shape[1]} element(s) per value, {requested.width} wanted"
        )
    return values


def as_array(given: Any, field: str) -> Array:
    """Python values, lists or arrays as an array of one plain type."""
    if isinstance(given, np.ndarray) and given.dtype.kind != "O":
        values = given
    else:
        given = given.tolist() if isinstance(given, np.ndarray) else given
        try:
            values = np.asarray(given)
        except (ValueError, OverflowError) as ragged:
            raise InvalidRequest(field, "values must all have one shape") from ragged
    if values.dtype.kind in "UOS":
        # Numbers beside text would have become text unnoticed; only all-text lists are text.
        return _all_text(np.asarray(given, dtype=object), field)
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))


def _all_text(values: Array, field: str) -> Array:
    """The values, if every one is text; else the first one that made them no plain column."""
    flat: list[Any] = values.reshape(-1).tolist()
    if all(isinstance(value, str) for value in flat):
        return values
    odd = next((i for i, v in enumerate(flat) if not isinstance(v, str | int | float)), None)
    what = "is not a plain value"
    if odd is None:
        odd = next((i for i, v in enumerate(flat) if _is_too_large(v)), None)
        what = "does not fit 64 bits"
    if odd is None:
        odd = next(i for i, v in enumerate(flat) if not isinstance(v, str))
        what = "text and numbers are mixed"
    row = odd * len(values) // len(flat) if values.ndim else None
    place = field if row is None else f"{field}[{row}]"
    raise InvalidRequest(place, f"{flat[odd]!r}: {what}")


def _is_too_large(value: Any) -> bool:
    return isinstance(value, int) and not -(2**63) <= value < 2**64
