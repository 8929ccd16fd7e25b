"""A Compute request as columns.

The first row says in which form all come. Column 0 has ids: they come back as they are, and as an
operand they are zeros. A row that is short has zeros for the rest, one of the other form zeros
throughout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from inferflow._proto.coarse import NumerixRequest
from inferflow._proto.numbers import parsed, read_number_rows
from inferflow.api.numerix import number_text
from inferflow.compute import Expression
from inferflow.dtypes import FP32, FP64, Array, DType
from inferflow.errors import CastFailed, InvalidInput, InvalidRequest

_NARROW = frozenset({"f32", "fp32"})

Data = Any
"""An EntityScoreData whose rows are bytes; its fields are known to protobuf only."""


@dataclass(slots=True)
class Asked:
    names: tuple[str, ...]
    """Of all columns, that of the ids first."""
    ids: list[str] | list[bytes]
    values: Array
    """[rows, columns], without the ids."""
    precision: DType
    is_text: bool

    @property
    def rows(self) -> int:
        return len(self.ids)


def parse(body: bytes) -> Data:
    """What was sent. Raises InvalidRequest when it is no such message at all, and InvalidInput when
    something that every request has is missing."""
    try:
        request = NumerixRequest.FromString(body)
    except DecodeError:
        what = "these bytes are not a NumerixRequestProto message"
        raise InvalidRequest("request", what) from None
    if not request.HasField("entity_score_data"):
        raise InvalidInput("entity_score_data is missing")
    data = request.entity_score_data
    for field in ("compute_id", "entity_scores", "schema"):
        if not getattr(data, field):
            raise InvalidInput(f"{field} is empty")
    return data


def is_in_text(data: Data) -> bool:
    """In which form the rows come, by the first. Raises InvalidInput when it is empty."""
    form = parsed(data.entity_scores[0], 0).WhichOneof("matrix_format")
    if form is None:
        raise InvalidInput("entity_scores[0] has neither string_data nor byte_data")
    return bool(form == "string_data")


def read(data: Data, *, is_text: bool) -> Asked:
    """The columns of a request. Raises InvalidInput with the place that is wrong."""
    names = tuple(data.schema)
    if len(set(names)) != len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InvalidInput(f"schema: {twice!r} is there twice")
    precision = FP32 if data.data_type.lower() in _NARROW else FP64
    if is_text:
        ids, values = _read_texts(data.entity_scores, names[1:], precision)
        return Asked(names, ids, values, precision, is_text=True)
    found = read_number_rows(data.entity_scores, names[1:], precision.numpy)
    return Asked(names, found.ids, found.values, precision, is_text=False)


def _read_texts(
    rows: Sequence[bytes], names: Sequence[str], precision: DType
) -> tuple[list[str], Array]:
    width = len(names)
    ids: list[str] = []
    texts: list[str] = []
    for place, row in enumerate(rows):
        values = list(parsed(row, place).string_data.values)
        ids.append(values[0] if values else "")
        texts += values[1 : width + 1]
        texts += ["0"] * (width - max(0, len(values) - 1))
    try:
        return ids, number_text.read(texts, precision).reshape(len(rows), width)
    except CastFailed as refused:
        number, column = divmod(refused.position or 0, width)
        where = f"row {number}, column {names[column]!r}"
        raise InvalidInput(f"{where}: {refused.what}") from refused


def operands(asked: Asked, expression: Expression) -> list[Array]:
    """The columns an expression reads, in its order. Raises InvalidInput when one is not there."""
    places = {name: place for place, name in enumerate(asked.names)}
    columns = []
    for name in expression.variables:
        place = places.get(name)
        if place is None:
            given = ", ".join(map(repr, asked.names))
            raise InvalidInput(
                f"the expression reads {name!r}, which is not in the schema: {given}"
            )
        is_id = place == 0
        columns.append(
            np.zeros(1, asked.precision.numpy)
            if is_id
            else np.ascontiguousarray(asked.values[:, place - 1])
        )
    return columns
