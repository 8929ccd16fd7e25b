"""A request as the bytes of the Predict call that fits it.

The wire knows targets and context. The entity with many ids (else the one given as a list, else
the last) are the targets; every other entity has one id and travels as a context value of its name.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

from inferflow._proto import coarse
from inferflow._proto.writing import fields, tag
from inferflow.client.columns import (
    ValueEncoding,
    WireColumn,
    check_text,
    named_columns,
    row_column,
    value_column,
)
from inferflow.client.rows import pair_rows, slate_rows, target_rows
from inferflow.engine.limits import Limits
from inferflow.engine.request import ScoreRequest, entity_ids
from inferflow.engine.slates import Slates
from inferflow.errors import InvalidRequest

_NO_LIMITS = Limits(**{limit.name: 2**31 - 1 for limit in dataclasses.fields(Limits)})
"""How much is too much, the server says."""

_GROUPS = tag(6)
"""`pairs` and `slates` of their messages."""


@dataclass(frozen=True, slots=True)
class Outgoing:
    """A call to make, and what its answer is about."""

    method: str
    body: bytes
    ids: Sequence[str]
    grouping: Literal["pairs", "slates"] | None = None
    members: Sequence[Sequence[int]] = ()
    target: str = ""
    """What the request calls its targets; the message has no place for it."""


def outgoing(
    request: ScoreRequest, encoding: ValueEncoding = "typed", tenant_id: str = ""
) -> Outgoing:
    """Raises InvalidRequest naming the part that has no wire form."""
    check_text(request.config_id, "model_config_id", "an id")
    check_text(request.tracking_id, "tracking_id", "an id")
    entities = _entities(request)
    target = _target(request, entities)
    ids = entities.pop(target)
    slates = _slates(request, len(ids))
    kind, message = _message(slates)
    message.model_config_id = request.config_id
    message.tracking_id = request.tracking_id
    message.tenant_id = tenant_id
    for column in _context(request, entities, encoding):
        message.context_features.add(
            name=column.name,
            value=column.bytes(1)[0],
            data_type=column.dtype.code,
            vector_dim=column.dim,
        )
    columns = _features(request, len(ids), encoding)
    _declare(message.target_input_schema, columns)
    message.targets.extend(target_rows(ids, columns, len(ids)))
    method = f"Infer{kind}"
    if slates is None:
        return Outgoing(method, message.SerializeToString(), ids, target=target)
    indices = slates.indices.tolist()
    members = [indices[start:end] for start, end in pairwise(slates.offsets.tolist())]
    groups = _groups(message, slates.kind, members, request, encoding)
    body = message.SerializeToString() + groups
    return Outgoing(method, body, ids, slates.kind, members, target)


def _message(slates: Slates | None) -> tuple[str, Any]:
    if slates is None:
        return "PointWise", coarse.PointWiseRequest()
    if slates.kind == "pairs":
        return "PairWise", coarse.PairWiseRequest()
    return "SlateWise", coarse.SlateWiseRequest()


# --- targets --------------------------------------------------------------------------------


def _entities(request: ScoreRequest) -> dict[str, list[str]]:
    given = named_columns(request.entities, "entities")
    if not given:
        raise InvalidRequest("entities", "the request names no entity")
    return {name: entity_ids(name, ids, _NO_LIMITS) for name, ids in given.items()}


def _target(request: ScoreRequest, entities: Mapping[str, Sequence[str]]) -> str:
    """The entity that is ranked: the choice an engine makes that is not told by the config."""
    many = [name for name, ids in entities.items() if len(ids) > 1]
    if len(many) > 1:
        raise InvalidRequest(
            f"entities.{many[1]}",
            f"has {len(entities[many[1]])} ids, and {many[0]!r} has {len(entities[many[0]])}",
            "over the network one entity has many ids, and every other has one",
        )
    listed = [name for name in entities if not isinstance(request.entities[name], str | int)]
    return (many or listed or list(entities)[-1:])[0]


def _context(
    request: ScoreRequest, entities: Mapping[str, Sequence[str]], encoding: ValueEncoding
) -> Iterable[WireColumn]:
    for name, (only_id,) in entities.items():
        yield value_column(name, only_id, encoding, f"entities.{name}")
    for name, value in named_columns(request.context, "context").items():
        field = f"context.{name}"
        if name in request.entities:
            raise InvalidRequest(field, f"has the name of entity {name!r}")
        yield value_column(name, value, encoding, field)


def _features(request: ScoreRequest, rows: int, encoding: ValueEncoding) -> list[WireColumn]:
    columns: dict[str, WireColumn] = {}
    for entity, given in named_columns(request.features, "features").items():
        for name, values in named_columns(given, f"features.{entity}").items():
            called, field = _full_name(entity, name), f"features.{entity}.{name}"
            if called in columns or called in request.context or called in request.entities:
                raise InvalidRequest(field, "the same name is given twice")
            columns[called] = row_column(called, values, rows, "target(s)", encoding, field)
    return list(columns.values())


def _full_name(entity: str, name: str) -> str:
    """`attributes:price` of a product is the column `product:attributes:price`. The entity's
    name does not travel, so it has to be part of the feature's."""
    is_group_and_feature = name.count(":") == 1 and not name.startswith(f"{entity}:")
    return f"{entity}:{name}" if is_group_and_feature else name


def _declare(schema: Any, columns: Sequence[WireColumn]) -> None:
    for column in columns:
        schema.add(name=column.name, data_type=column.dtype.code, vector_dim=column.dim)


# --- pairs and slates -----------------------------------------------------------------------


def _slates(request: ScoreRequest, rows: int) -> Slates | None:
    if request.pairs is not None and request.slates is not None:
        raise InvalidRequest("slates", "a request has pairs or slates, not both")
    if request.pairs is not None:
        return Slates.of("pairs", request.pairs, rows, _NO_LIMITS)
    if request.slates is not None:
        return Slates.of("slates", request.slates, rows, _NO_LIMITS)
    if len(request.slate_features):
        raise InvalidRequest("slate_features", "there are no pairs or slates to belong to")
    return None


def _groups(
    message: Any,
    kind: Literal["pairs", "slates"],
    members: Sequence[Sequence[int]],
    request: ScoreRequest,
    encoding: ValueEncoding,
) -> bytes:
    """The groups as fields that follow all others of the message; their schema is put in it."""
    columns = [
        row_column(name, values, len(members), kind, encoding, f"slate_features.{name}")
        for name, values in named_columns(request.slate_features, "slate_features").items()
    ]
    if kind == "pairs":
        _declare(message.pair_input_schema, columns)
        rows = pair_rows(members, columns, len(members))
    else:
        _declare(message.slate_input_schema, columns)
        rows = slate_rows(members, columns, len(members))
    return b"".join(fields(_GROUPS, rows))
