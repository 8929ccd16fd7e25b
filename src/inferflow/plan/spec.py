"""A config with one meaning: what both written shapes become before compiling.

Names are still names here; the compiler turns them into slots. Columns a step writes carry
their full name, and every other name they may be called by.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from inferflow.dtypes import DType
from inferflow.plan.schema import NanPolicy, OnError, SlateReduce

INIT = "feature_initializer"
"""The root step: it makes the rows and fills what the request brings."""

CONTEXT = "context:"
"""A column that starts so can only come with the request."""

SHARE_ROUNDING = 1e-9
"""How far the percentages of routes may be from 100 and still mean all of the traffic."""


@dataclass(frozen=True, slots=True)
class Use:
    """A column somebody reads."""

    column: str
    where: str = field(repr=False)
    """Its place in the config, for problems. No part of the meaning, so no part of a digest."""
    dtype: DType | None = None
    """The type the reader declares; None takes the column's own."""
    default: Any = None
    """For a column only the request brings: its value when the request does not."""
    dim: int | None = None
    variable: str = ""
    """Explicit name in an expression; empty derives it from the column."""


@dataclass(frozen=True, slots=True)
class FeatureSpec:
    label: str
    dtype: DType | None
    default: Any = None
    group_dtype: DType | None = None
    """What the config says of its group; `dtype` may be a less precise one."""


@dataclass(frozen=True, slots=True)
class GroupSpec:
    label: str
    features: tuple[FeatureSpec, ...]


@dataclass(frozen=True, slots=True)
class KeySpec:
    name: str
    use: Use


@dataclass(frozen=True, slots=True)
class StepSpec:
    name: str
    on_error: OnError
    timeout_ms: float | None


@dataclass(frozen=True, slots=True)
class FeatureStepSpec(StepSpec):
    entity: str
    keys: tuple[KeySpec, ...]
    groups: tuple[GroupSpec, ...]
    prefix: str
    """Columns are `<prefix>:<group>:<feature>`."""
    kept_keys: tuple[str, ...]
    id_column: str | None
    """Column for the joined key, when composite_id asks for one."""
    cached: bool
    cache_ttl_s: float
    batch_size: int


@dataclass(frozen=True, slots=True)
class TensorSpec:
    name: str
    uses: tuple[Use, ...]
    shape: tuple[int, ...]
    dtype: DType | None


@dataclass(frozen=True, slots=True)
class ScoreSpec:
    """A score column a model writes."""

    column: str
    bare: str
    """The score's own name, without the component."""
    width: int | None
    """Elements per row; None takes it from the model."""


@dataclass(frozen=True, slots=True)
class OutputSpec:
    tensor: str | None
    """Output tensor by name; None binds by the rules for score columns."""
    scores: tuple[ScoreSpec, ...]
    dtype: DType | None


@dataclass(frozen=True, slots=True)
class RouteSpec:
    endpoint: str
    percent: float


@dataclass(frozen=True, slots=True)
class CalibrationSpec:
    kind: Literal["lookup", "platt", "isotonic", "expression"]
    name: str = ""
    columns: tuple[str, ...] = ()
    a: float = 0.0
    b: float = 0.0
    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ModelStepSpec(StepSpec):
    model: str
    version: str | None
    endpoint: str
    routes: tuple[RouteSpec, ...]
    batch_size: int
    calibration: CalibrationSpec | None
    uses: tuple[Use, ...]
    tensors: tuple[TensorSpec, ...]
    outputs: tuple[OutputSpec, ...]
    slate: bool
    slate_reduce: SlateReduce
    nan_policy: NanPolicy
    nan_default: float


@dataclass(frozen=True, slots=True)
class ComputeStepSpec(StepSpec):
    column: str
    bare: str
    dtype: DType
    uses: tuple[Use, ...]
    compute_id: str
    slate: bool
    slate_reduce: SlateReduce
    nan_policy: NanPolicy
    nan_default: float
    strict: bool


@dataclass(frozen=True, slots=True)
class ResponseSpec:
    features: tuple[str, ...]
    model_schema_perc: int
    logging_perc: int
    log_features: tuple[str, ...] | None
    """None logs the full schema."""
    log_batch_size: int


@dataclass(frozen=True, slots=True)
class ConfigSpec:
    id: str
    steps: Mapping[str, StepSpec]
    """By name, in written order; the root is not among them."""
    feeds: Mapping[str, tuple[str, ...]]
    """step → the steps that wait for it, the root included."""
    response: ResponseSpec
    cache_version: int
    error_logging_percent: int
    id_column: str
    value_encoding: Literal["typed", "text", "auto"]
    readings: tuple[str, ...] = field(default=(), compare=False, repr=False)
    """How ambiguous parts were read, for `explain`."""
