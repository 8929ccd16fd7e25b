"""The Predict service: typed requests for targets, pairs and slates, and their answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

from inferflow._proto import coarse
from inferflow._proto.writing import field, tag
from inferflow.api.rpc import Caller, PlanSide, Rpc
from inferflow.api.score_rows import failure_of, row_bytes, schema_bytes, utf8
from inferflow.api.targets import read_targets
from inferflow.api.values import Declared, declared_schema, read_column, read_value
from inferflow.dtypes import Array
from inferflow.engine.limits import Limits
from inferflow.engine.request import KeyTexts, ScoreRequest
from inferflow.errors import InvalidRequest
from inferflow.plan.plan import Plan
from inferflow.scores import Scores, Table

TENANT = "tenant_id"


# --- requests -------------------------------------------------------------------------------


def _point_request(message: Any, side: PlanSide, caller: Caller) -> ScoreRequest:
    plan = side.plan
    context = _context(message, side)
    schema = declared_schema(message.target_input_schema, "target_input_schema", side.limits)
    entity = side.target_entities.of(tuple(context))
    if caller.target:
        entity.check(caller.target)
    _refuse_names(context, entity.aliases, "context_features", "is the name of the target ids")
    if schema:
        names = [entry.name for entry in schema]
        _refuse_names(names, entity.aliases, "target_input_schema", "is the name of the target ids")
        _refuse_names(names, context, "target_input_schema", "is in context_features too")
    rows = message.targets
    if not rows:
        raise InvalidRequest("targets", "there are none")
    side.limits.check("targets", len(rows), "targets")
    texts, values = read_targets(list(rows), len(schema))
    _check_ids(texts, side.limits)
    ids = KeyTexts(texts)
    request = ScoreRequest(
        plan.config_id,
        {entity.name: ids},
        context,
        {entity.name: _columns(schema, values, plan, "targets")} if schema else {},
        tracking_id=message.tracking_id,
        user_id=caller.user_id,
        wants_inputs=caller.share(plan.response.model_schema_perc),
        parent_entity=caller.parent,
    )
    if entity.from_context:
        others = {name: [context.pop(name)] for name in entity.from_context}
        request.entities = {entity.name: ids, **others}
    return request


def _check_ids(ids: Sequence[str], limits: Limits) -> None:
    if "" in ids:
        raise InvalidRequest(f"targets[{ids.index('')}].id", "is empty")
    if max(map(len, ids)) * 4 > limits.id_bytes:
        for position, each in enumerate(ids):
            limits.check("id_bytes", len(each.encode()), f"targets[{position}].id")


def _pair_request(message: Any, side: PlanSide, caller: Caller) -> ScoreRequest:
    pairs = message.pairs
    _check_groups(side, len(pairs), "pairs")
    request = _point_request(message, side, caller)
    request.pairs = [[pair.first_target_index, pair.second_target_index] for pair in pairs]
    request.slate_features = _group_features(
        message.pair_input_schema, pairs, request, side, "pair"
    )
    return request


def _slate_request(message: Any, side: PlanSide, caller: Caller) -> ScoreRequest:
    slates = message.slates
    _check_groups(side, len(slates), "slates")
    request = _point_request(message, side, caller)
    for position, slate in enumerate(slates):  # before a list of any length is made
        size = len(slate.target_indices)
        side.limits.check("slate_size", size, f"slates[{position}].target_indices")
    request.slates = [list(slate.target_indices) for slate in slates]
    request.slate_features = _group_features(
        message.slate_input_schema, slates, request, side, "slate"
    )
    return request


def _check_groups(side: PlanSide, count: int, kind: str) -> None:
    if not count:
        raise InvalidRequest(kind, "there are none")
    side.limits.check(kind, count, kind)


def _context(message: Any, side: PlanSide) -> dict[str, Any]:
    plan, given = side.plan, message.context_features
    schema = declared_schema(given, "context_features", side.limits)
    context = {
        entry.name: read_value(feature.value, entry, plan.value_encoding, "context_features")
        for feature, entry in zip(given, schema, strict=True)
    }
    if TENANT in plan.columns and message.tenant_id:
        context.setdefault(TENANT, message.tenant_id)
    return context


def _columns(
    schema: Sequence[Declared], values: Sequence[Any], plan: Plan, field: str
) -> dict[str, Array]:
    return {
        entry.name: read_column(parts, entry, plan.value_encoding, field)
        for entry, parts in zip(schema, values, strict=True)
    }


def _group_features(
    entries: Any, groups: Any, request: ScoreRequest, side: PlanSide, kind: str
) -> dict[str, Array]:
    schema_field, rows_field = f"{kind}_input_schema", f"{kind}s"
    schema = declared_schema(entries, schema_field, side.limits)
    names = [entry.name for entry in schema]
    _refuse_names(names, request.context, schema_field, "is in context_features too")
    _refuse_names(names, request.entities, schema_field, "is the name of an id")
    rows = [group.feature_values for group in groups]
    for position, given in enumerate(rows):
        if len(given) != len(schema):
            raise InvalidRequest(
                f"{rows_field}[{position}].feature_values",
                f"{len(given)} value(s) for the {len(schema)} column(s) of {schema_field}",
            )
    values = zip(*rows, strict=True) if schema else ()
    return _columns(schema, [list(parts) for parts in values], side.plan, rows_field)


def _refuse_names(names: Collection[str], taken: Collection[str], field: str, why: str) -> None:
    if frozenset(taken).isdisjoint(names):
        return
    for position, name in enumerate(names):
        if name in taken:
            raise InvalidRequest(f"{field}[{position}]", f"{name!r} {why}")


# --- answers --------------------------------------------------------------------------------


def _point_answer(scores: Scores) -> bytes:
    targets = scores.targets
    return _schema(targets, 1) + _rows(targets, 2) + _error(failure_of(targets), 3)


def _group_answer(scores: Scores) -> bytes:
    return b"".join(
        (
            _rows(scores.groups, 1),
            _rows(scores.targets, 2),
            _schema(scores.targets, 3),
            _schema(scores.groups, 4),
            _error(failure_of(scores.targets, scores.groups), 5),
        )
    )


def _schema(table: Table | None, number: int) -> bytes:
    return schema_bytes(table, tag(number)) if table is not None else b""


def _rows(table: Table | None, number: int) -> bytes:
    """Rows without a column say nothing, so they are left out."""
    return row_bytes(table, tag(number)) if table is not None and table.columns else b""


def _error(text: str, number: int) -> bytes:
    return field(tag(number), utf8(text)) if text else b""


def _rpc(
    method: str,
    message: Any,
    request: Callable[[Any, PlanSide, Caller], ScoreRequest],
    answer: Callable[[Scores], bytes],
) -> Rpc:
    return Rpc("Predict", method, message, request, answer)


POINT_WISE = _rpc("InferPointWise", coarse.PointWiseRequest, _point_request, _point_answer)
PAIR_WISE = _rpc("InferPairWise", coarse.PairWiseRequest, _pair_request, _group_answer)
SLATE_WISE = _rpc("InferSlateWise", coarse.SlateWiseRequest, _slate_request, _group_answer)
