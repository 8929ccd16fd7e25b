"""The older call: everything comes as text, and a table of text goes back.

Of two entities with one name the first counts, and so it is with features; names of both are
one set. `user-id` and `app-version-code` headers are entities where the config asks for them
and the request itself brings nothing that fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from inferflow._proto import messages
from inferflow._proto.writing import field, fields, tag
from inferflow.api.rpc import Caller, PlanSide, Rpc
from inferflow.api.score_rows import failure_of, utf8
from inferflow.api.values import check_name
from inferflow.dtypes import Array, format_text
from inferflow.engine.limits import Limits
from inferflow.engine.request import ScoreRequest
from inferflow.errors import InvalidRequest
from inferflow.scores import ScoreColumn, Scores

_LINE, _ERROR = tag(1), tag(2)
_CELL, _MESSAGE = tag(1), tag(1)


def _request(message: Any, side: PlanSide, caller: Caller) -> ScoreRequest:
    if not message.entities:
        raise InvalidRequest("entities", "there are none")
    side.limits.check("features", len(message.entities), "entities")
    entities: dict[str, list[str]] = {}
    features: dict[str, dict[str, Array]] = {}
    seen: set[str] = set()
    for position, entity in enumerate(message.entities):
        field, name = f"entities[{position}]", entity.entity
        _check(entity, field, side.limits)
        if name not in seen:
            seen.add(name)
            entities[name] = list(entity.ids)
        for feature in entity.features:
            if feature.name not in seen:
                seen.add(feature.name)
                texts = features.setdefault(name, {})
                texts[feature.name] = _texts(feature.ids_feature_value)
    plan = side.plan
    request = ScoreRequest(
        plan.config_id,
        entities,
        features=features,
        tracking_id=message.tracking_id,
        user_id=caller.user_id,
        legacy=True,
        wants_inputs=caller.share(plan.response.model_schema_perc),
        parent_entity=caller.parent,
    )
    offered = {name: ids for name, ids in _headers(caller).items() if ids and name not in seen}
    if offered:
        wanted = side.missing_entities.of(request, tuple(offered))
        request.entities = {**entities, **{name: list(offered[name]) for name in wanted}}
    return request


def _check(entity: Any, field: str, limits: Limits) -> None:
    """That an entity is no larger than it may be, before anything is made of it."""
    if not entity.entity:
        raise InvalidRequest(f"{field}.entity", "is empty")
    check_name(entity.entity, field, limits)
    limits.check("targets", len(entity.ids), f"{field}.ids")
    limits.check("features", len(entity.features), f"{field}.features")
    for position, feature in enumerate(entity.features):
        place = f"{field}.features[{position}]"
        check_name(feature.name, place, limits)
        limits.check("targets", len(feature.ids_feature_value), f"{place}.ids_feature_value")


def _headers(caller: Caller) -> Mapping[str, Sequence[str]]:
    return {"user_id": caller.user_ids, "app_version_code": caller.app_version_codes}


def _texts(values: Any) -> Array:
    texts = np.empty(len(values), object)
    texts[:] = list(values)
    return texts


def _answer(scores: Scores) -> bytes:
    columns = scores.targets.columns
    header = field(_LINE, b"".join(fields(_CELL, map(utf8, columns))))
    cells = [fields(_CELL, map(utf8, column_texts(column))) for column in columns.values()]
    lines = fields(_LINE, map(b"".join, zip(*cells, strict=True)))
    failure = failure_of(scores.targets)
    error = field(_ERROR, field(_MESSAGE, utf8(failure))) if failure else b""
    return b"".join((header, *lines, error))


def column_texts(column: ScoreColumn) -> list[str]:
    """The text of each row; none where the row is blank."""
    texts = format_text(column.values, column.dtype)
    if column.blank is not None:
        texts = list(texts)
        for row in np.flatnonzero(column.blank).tolist():
            texts[row] = ""
    return texts


RETRIEVE_MODEL_SCORE = Rpc(
    "Inferflow", "RetrieveModelScore", messages.InferflowRequest, _request, _answer
)
