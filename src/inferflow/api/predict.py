"""The Predict service: typed requests for targets, pairs and slates, and their answers."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Any

from inferflow._proto import coarse
from inferflow._proto.writing import field, tag
from inferflow.api.rpc import Caller, PlanSide, Rpc
from inferflow.api.sampling import daily_share
from inferflow.api.score_rows import failure_of, row_bytes, schema_bytes, utf8
from inferflow.api.targets import read_targets
from inferflow.api.values import Declared, declared_schema, read_column, read_value
from inferflow.dtypes import Array
from inferflow.engine.request import ScoreRequest
from inferflow.errors import InvalidRequest
from inferflow.plan.plan import Plan
from inferflow.scores import Scores, Table

TENANT = "tenant_id"


# --- requests -------------------------------------------------------------------------------


def _point_request(message: Any, side: PlanSide, caller: Caller) -> ScoreRequest:
    plan = side.plan
    context = _context(message, plan)
    schema = declared_schema(message.target_input_schema, "target_input_schema")
    entity = side.target_entities.of(tuple(context))
    _refuse_names(context, entity.aliases, "context_features", "is the name of the target ids")
    names = [entry.name for entry in schema]
    _refuse_names(names, entity.aliases, "target_input_schema", "is the name of the target ids")
    _refuse_names(names, context, "target_input_schema", "is in context_features too")
    rows = message.targets
    if not rows:
        raise InvalidRequest("targets", "there are none")
    side.limits.check("targets", len(rows), "targets")
    ids, values = read_targets(list(rows), len(schema))
    if "" in ids:
        raise InvalidRequest(f"targets[{ids.index('')}].id", "is empty")
    features = _columns(schema, values, plan, "targets")
    request = ScoreRequest(
        plan.config_id,
        {entity.name: ids},
        context,
        {entity.name: features} if features else {},
        tracking_id=message.tracking_id,
        user_id=caller.user_id,
        wants_inputs=daily_share(plan.response.model_schema_perc, caller.day),
    )
    if entity.from_context:
        others = {name: [context.pop(name)] for name in entity.from_context}
        request.entities = {entity.name: ids, **others}
    return request


def _pair_request(message: Any, side: PlanSide, caller: Caller) -> ScoreRequest:
    pairs = message.pairs
    _check_groups(side, len(pairs), "pairs")
    request = _point_request(message, side, caller)
    request.pairs = [[pair.first_target_index, pair.second_target_index] for pair in pairs]
    request.slate_features = _group_features(
        message.pair_input_schema, pairs, request, side.plan, "pair"
    )
    return request


def _slate_request(message: Any, side: PlanSide, caller: Caller) -> ScoreRequest:
    slates = message.slates
    _check_groups(side, len(slates), "slates")
    request = _point_request(message, side, caller)
    request.slates = [list(slate.target_indices) for slate in slates]
    request.slate_features = _group_features(
        message.slate_input_schema, slates, request, side.plan, "slate"
    )
    return request


def _check_groups(side: PlanSide, count: int, kind: str) -> None:
    if not count:
        raise InvalidRequest(kind, "there are none")
    side.limits.check(kind, count, kind)


def _context(message: Any, plan: Plan) -> dict[str, Any]:
    given = message.context_features
    schema = declared_schema(given, "context_features") if given else []
    context = {
        entry.name: read_value(feature.value, entry, plan.value_encoding, "context_features")
        for feature, entry in zip(given, schema, strict=True)
    }
    if message.tenant_id and TENANT in plan.columns:
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
    entries: Any, groups: Any, request: ScoreRequest, plan: Plan, kind: str
) -> dict[str, Array]:
    schema_field, rows_field = f"{kind}_input_schema", f"{kind}s"
    schema = declared_schema(entries, schema_field)
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
    return _columns(schema, [list(parts) for parts in values], plan, rows_field)


def _refuse_names(names: Iterable[str], taken: Container[str], field: str, why: str) -> None:
    for position, name in enumerate(names):
        if name in taken:
            raise InvalidRequest(f"{field}[{position}]", f"{name!r} {why}")


# --- answers --------------------------------------------------------------------------------


def _point_answer(scores: Scores) -> bytes:
    return b"".join(
        (
            _schema(scores.targets, 1),
            _rows(scores.targets, 2),
            _error(failure_of(scores.targets), 3),
        )
    )


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
