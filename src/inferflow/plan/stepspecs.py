"""Reads one written component into its spec: feature, model or compute."""

from __future__ import annotations

from math import prod
from typing import Any

from inferflow.dtypes import FP32, DType, parse_dtype
from inferflow.errors import InvalidInput
from inferflow.plan.problems import Problems
from inferflow.plan.schema import (
    CalibrationDoc,
    ColumnUseDoc,
    ComponentsDoc,
    ComputeDoc,
    FeatureDoc,
    GroupDoc,
    ModelDoc,
    StepDoc,
    TensorOutDoc,
)
from inferflow.plan.spec import (
    CONTEXT,
    SHARE_ROUNDING,
    CalibrationSpec,
    ComputeStepSpec,
    FeatureSpec,
    FeatureStepSpec,
    GroupSpec,
    KeySpec,
    ModelStepSpec,
    OutputSpec,
    RouteSpec,
    ScoreSpec,
    TensorSpec,
    Use,
)

DEFAULT_CACHE_TTL_S = 100.0


def read_feature_step(
    name: str, doc: FeatureDoc, shared: ComponentsDoc, problems: Problems, *, list_shaped: bool
) -> FeatureStepSpec:
    entity = doc.fs_request.entity_label
    keys = _keys(name, doc, problems)
    for kept in doc.fs_flatten_resp_keys:
        if kept not in {key.name for key in keys}:
            # The original wants this list filled but never reads it, so its configs hold anything.
            say = problems.note if list_shaped else problems.error
            say(f"{name}.fs_flatten_resp_keys", f"{kept!r} is not a key of fs_keys.schema")
    return FeatureStepSpec(
        **_common(name, doc, "default"),
        entity=entity,
        keys=keys,
        groups=tuple(
            _group(f"{name}.fs_request.feature_groups[{i}]", group, problems)
            for i, group in enumerate(doc.fs_request.feature_groups)
            if group.feature_labels
        ),
        prefix=column_prefix(doc.col_name_prefix, entity, list_shaped=list_shaped),
        kept_keys=tuple(doc.fs_flatten_resp_keys),
        id_column=(doc.component_id or f"{name}:id") if doc.composite_id else None,
        cached=shared.cache_enabled and doc.comp_cache_enabled,
        cache_ttl_s=doc.comp_cache_ttl or shared.cache_ttl or DEFAULT_CACHE_TTL_S,
        batch_size=doc.batch_size,
    )


def column_prefix(written: str, entity: str, *, list_shaped: bool) -> str:
    """What feature columns start with.

    A prefix that ends with a colon stands before the entity label. Without one it replaces
    the label in the documented shape, and stands before it in the list shape.
    """
    if written.endswith(":"):
        return written + entity
    if not written or written == entity:
        return entity
    return f"{written}:{entity}" if list_shaped else written


def _keys(name: str, doc: FeatureDoc, problems: Problems) -> tuple[KeySpec, ...]:
    keys: list[KeySpec] = []
    for i, entry in enumerate(doc.fs_keys):
        where = f"{name}.fs_keys[{i}]" if len(doc.fs_keys) > 1 else f"{name}.fs_keys"
        columns = [part.strip() for text in entry.col for part in text.split(",")]
        if len(columns) != len(entry.schema_):
            problems.error(
                where,
                f"{len(entry.schema_)} key name(s) but {len(columns)} column(s)",
                "give `col` one column per name, as a list",
            )
        # After a mismatch, only so that everything else can be checked.
        columns += [CONTEXT + key for key in entry.schema_[len(columns) :]]
        keys.extend(
            KeySpec(key, Use(column, f"{where}.col[{j}]"))
            for j, (key, column) in enumerate(zip(entry.schema_, columns, strict=False))
        )
    names = [key.name for key in keys]
    for twice in {key for key in names if names.count(key) > 1}:
        problems.error(f"{name}.fs_keys", f"key {twice!r} is given twice")
    return tuple(keys)


def _group(where: str, doc: GroupDoc, problems: Problems) -> GroupSpec:
    features: dict[str, FeatureSpec] = {}
    for written in doc.feature_labels:
        label, _, quantised = written.rpartition("@") if "@" in written else (written, "", "")
        dtype = _parsed(quantised, f"{where}.feature_labels", problems) if quantised else None
        if label in features:
            problems.error(f"{where}.feature_labels", f"{label!r} is asked for twice")
        features[label] = FeatureSpec(
            label, dtype or doc.data_type, doc.defaults.get(label), doc.data_type
        )
    for label in doc.defaults:
        if label not in features:
            problems.error(f"{where}.defaults", f"{label!r} is not among the group's features")
    return GroupSpec(doc.label, tuple(features.values()))


def read_model_step(
    name: str, doc: ModelDoc, problems: Problems, *, list_shaped: bool
) -> ModelStepSpec:
    tensors = tuple(
        TensorSpec(
            tensor.name,
            tuple(
                Use(col, f"{name}.inputs[{tensor.name!r}].features[{j}]", tensor.data_type)
                for j, col in enumerate(tensor.features)
            ),
            tuple(tensor.shape),
            tensor.data_type,
        )
        for tensor in doc.inputs.tensors
    )
    names = [tensor.name for tensor in tensors]
    for twice in sorted({tensor for tensor in names if names.count(tensor) > 1}):
        problems.error(f"{name}.inputs[{twice!r}]", "the same tensor is given twice")
    if not tensors and not doc.inputs.feature_map:
        problems.error(f"{name}.inputs", "lists no columns", "fill feature_map")
    return ModelStepSpec(
        **_common(name, doc, "skip", deadline_ms=doc.deadline),
        model=doc.model_name,
        version=None if doc.model_version is None else str(doc.model_version),
        endpoint=doc.model_endpoint,
        routes=_routes(name, doc, problems),
        batch_size=doc.batch_size,
        calibration=_calibration(name, doc.calibration, problems),
        uses=()
        if tensors
        else tuple(
            _use(f"{name}.inputs.feature_map[{column!r}]", column, use)
            for column, use in doc.inputs.feature_map.items()
        ),
        tensors=tensors,
        outputs=_outputs(name, doc, problems, list_shaped=list_shaped),
        slate=doc.slate_component,
        slate_reduce=doc.slate_reduce,
        nan_policy=doc.nan_policy,
        nan_default=doc.nan_default,
    )


def _routes(name: str, doc: ModelDoc, problems: Problems) -> tuple[RouteSpec, ...]:
    where = f"{name}.model_end_points"
    shares = [route.percentage for route in doc.model_end_points]
    if any(share < 0 for share in shares):
        problems.error(where, "a percentage is negative")
    total = sum(shares)
    if total > 100 + SHARE_ROUNDING:
        problems.error(where, f"percentages add up to {total:g}, more than 100")
    elif 0 < total < 100 - SHARE_ROUNDING and not doc.model_endpoint:
        problems.error(
            where,
            f"percentages add up to {total:g} and nothing takes the rest",
            "make them 100, or set model_endpoint",
        )
    elif shares and total == 0 and not doc.model_endpoint:
        problems.error(where, "no endpoint has a share", "give percentages, or set model_endpoint")
    return tuple(RouteSpec(route.endpoint, route.percentage) for route in doc.model_end_points)


def _calibration(
    name: str, doc: CalibrationDoc | None, problems: Problems
) -> CalibrationSpec | None:
    if doc is None or not doc.enabled:
        return None
    where = f"{name}.calibration"
    kind = doc.type or ("platt" if doc.a is not None else "isotonic" if doc.x else "lookup")
    columns = tuple(doc.columns)
    if kind == "platt":
        if doc.a is None or doc.b is None:
            problems.error(where, "platt needs `a` and `b`")
        return CalibrationSpec("platt", columns=columns, a=doc.a or 0.0, b=doc.b or 0.0)
    if kind == "isotonic":
        if len(doc.x) != len(doc.y) or len(doc.x) < 2:
            problems.error(where, "isotonic needs `x` and `y` of one length, at least two")
        elif any(b <= a for a, b in zip(doc.x, doc.x[1:], strict=False)):
            problems.error(where, "isotonic needs `x` strictly rising")
        elif any(b < a for a, b in zip(doc.y, doc.y[1:], strict=False)):
            problems.error(where, "isotonic needs `y` that never falls")
        return CalibrationSpec("isotonic", columns=columns, x=tuple(doc.x), y=tuple(doc.y))
    if not doc.name:
        problems.error(where, "is enabled but has no name", "set `name`, or `type` and its values")
        return None
    if kind == "expression":
        return CalibrationSpec("expression", name=doc.name, columns=columns)
    return CalibrationSpec("lookup", name=doc.name)


def _outputs(
    name: str, doc: ModelDoc, problems: Problems, *, list_shaped: bool
) -> tuple[OutputSpec, ...]:
    if doc.outputs.tensors:
        return tuple(_output_tensor(name, tensor, problems) for tensor in doc.outputs.tensors)
    if not doc.outputs.score_columns:
        problems.error(f"{name}.outputs", "names no score columns", "fill score_columns")
    scores = tuple(
        ScoreSpec(score if list_shaped else f"{name}:{score}", score, None)
        for score in doc.outputs.score_columns
    )
    return (OutputSpec(None, scores, doc.outputs.data_type),)


def _output_tensor(name: str, tensor: TensorOutDoc, problems: Problems) -> OutputSpec:
    dims = tensor.model_scores_dims
    if dims and len(dims) != len(tensor.model_scores):
        problems.error(
            f"{name}.outputs[{tensor.name!r}].model_scores_dims",
            f"{len(tensor.model_scores)} score(s) but {len(dims)} dims",
        )
        dims = []
    widths: list[int | None] = [prod(abs(d) for d in dim) if dim else 1 for dim in dims]
    widths = widths or [None] * len(tensor.model_scores)
    scores = tuple(
        ScoreSpec(score, score, width)
        for score, width in zip(tensor.model_scores, widths, strict=True)
    )
    return OutputSpec(tensor.name, scores, tensor.data_type)


def read_compute_step(
    name: str, doc: ComputeDoc, problems: Problems, *, list_shaped: bool
) -> ComputeStepSpec:
    if not doc.score_mapping:
        problems.error(f"{name}.score_mapping", "maps no columns")
    uses = tuple(
        _variable(f"{name}.score_mapping[{key!r}]", key, use)
        for key, use in doc.score_mapping.items()
    )
    named = [use.variable for use in uses if use.variable]
    for twice in sorted({variable for variable in named if named.count(variable) > 1}):
        problems.error(f"{name}.score_mapping", f"variable {twice!r} is given two columns")
    return ComputeStepSpec(
        **_common(name, doc, "skip"),
        column=doc.score_column if list_shaped else f"{name}:{doc.score_column}",
        bare=doc.score_column,
        dtype=doc.data_type or FP32,
        uses=uses,
        compute_id=str(doc.compute_id),
        slate=doc.slate_component,
        slate_reduce=doc.slate_reduce,
        nan_policy=doc.nan_policy,
        nan_default=doc.nan_default,
        strict=doc.domain_errors == "fail",
    )


def _variable(where: str, key: str, doc: ColumnUseDoc) -> Use:
    """`column: TYPE`, or the original's `variable@TYPE: column`."""
    if not doc.column:
        return _use(where, key, doc)
    return Use(doc.column, where, doc.dtype, doc.default, doc.dim, key.rpartition("@")[0])


def _use(where: str, column: str, doc: ColumnUseDoc) -> Use:
    return Use(column, where, doc.dtype, doc.default, doc.dim)


def _common(name: str, doc: StepDoc, on_error: str, *, deadline_ms: float = 0) -> dict[str, Any]:
    return {
        "name": name,
        "on_error": doc.on_error or on_error,
        "timeout_ms": doc.timeout or deadline_ms or None,
    }


def _parsed(text: str, where: str, problems: Problems) -> DType | None:
    try:
        return parse_dtype(text)
    except InvalidInput as unknown:
        problems.error(where, str(unknown))
        return None
