"""What people write: the fields of a model config, documented in place.

Both the documented shape (components as maps) and the list shape of the original are read
here; where a field has several names, all are listed. Unknown keys are refused. Meaning is
given later, by `normalise`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AliasChoices,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    model_validator,
)
from pydantic.fields import FieldInfo

from inferflow.plan.fields import (
    Default,
    DurationMs,
    Names,
    OptionalDType,
    Percent,
    Seconds,
    Sizes,
    Text,
)
from inferflow.plan.fields import duration_ms as duration_ms

OnError = Literal["default", "skip", "fail"]
NanPolicy = Literal["pass", "error", "default"]
SlateReduce = Literal["first", "last", "mean", "sum", "min", "max"]


def _as_list(value: object) -> object:
    return [value] if isinstance(value, dict) else value


def _routes(value: object) -> object:
    """Routes as a map of endpoint → percentage become the list form."""
    if isinstance(value, dict):
        return [{"endpoint": endpoint, "percentage": share} for endpoint, share in value.items()]
    return value


def _tensors(value: object) -> object:
    """A bare list of tensors becomes the object form."""
    return {"tensors": value} if isinstance(value, list) else value


def _calibration(value: object) -> object:
    """A bare name becomes the object form; an empty one is none."""
    if value in ("", {}):
        return None
    return {"name": value} if isinstance(value, str) else value


class Doc(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        frozen=True,
        populate_by_name=True,
        arbitrary_types_allowed=True,
        allow_inf_nan=False,
    )


class StepDoc(Doc):
    """What every component may say."""

    component: str = ""
    """Name, in the list shape; in the map shape the key is the name."""
    component_id: str = ""
    """Column for the joined key of a composite feature component; otherwise without effect."""
    on_error: OnError | None = None
    """When the step fails: fill defaults, skip what depends on it, or fail the request."""
    timeout: DurationMs | None = None
    """Time this step may take; the caller's deadline still applies."""


class KeyDoc(Doc):
    schema_: Names = Field(validation_alias=AliasChoices("schema", "schema_"))
    """Names of the entity's key parts."""
    col: Names
    """Columns the key values are read from, one per name (a comma list is one text)."""


class GroupDoc(Doc):
    label: str
    data_type: OptionalDType = None
    """Type of the group's features; the store's schema says it when this does not."""
    feature_labels: list[str] = Field(
        default=[], validation_alias=AliasChoices("feature_labels", "features")
    )
    """`name`, or `name@DType` to convert on the way."""
    defaults: dict[str, Default] = {}
    """feature → value where the store has none."""


class RequestDoc(Doc):
    entity_label: str = Field(validation_alias=AliasChoices("entity_label", "label"))
    feature_groups: list[GroupDoc] = Field(
        default=[], validation_alias=AliasChoices("feature_groups", "featureGroups")
    )


class FeatureDoc(StepDoc):
    fs_keys: Annotated[list[KeyDoc], BeforeValidator(_as_list), Field(min_length=1)] = Field(
        validation_alias=AliasChoices("fs_keys", "FSKeys")
    )
    """One object or a list of them."""
    fs_request: RequestDoc
    fs_flatten_resp_keys: list[str] = []
    """Keys kept as columns `<component>:<key>` beside the features."""
    col_name_prefix: str = ""
    """What columns start with; the entity label when empty."""
    comp_cache_enabled: bool = False
    comp_cache_ttl: Seconds = 0
    """Seconds; 0 takes cache_ttl."""
    composite_id: bool = False
    """Write the joined key to a column of its own."""
    batch_size: Annotated[int, Field(ge=0)] = 0
    """Keys per read; 0 reads all at once."""


class RouteDoc(Doc):
    endpoint: str
    percentage: float


class CalibrationDoc(Doc):
    enabled: bool = True
    name: str = ""
    """With no type: adds the look-up columns `<name>_model` and `inferflow_config_id`.
    With type expression: the compute id applied to the score."""
    type: Literal["", "lookup", "platt", "isotonic", "expression"] = ""
    columns: list[str] = []
    """Score columns to calibrate; the first one when empty."""
    a: float | None = None
    b: float | None = None
    """platt: 1 / (1 + exp(a * score + b))."""
    x: list[float] = []
    y: list[float] = []
    """isotonic: piecewise linear through (x, y), flat outside."""


class ColumnUseDoc(Doc):
    """A column a component reads: its type, and what to use when the request leaves it out."""

    dtype: OptionalDType = Field(default=None, validation_alias=AliasChoices("dtype", "data_type"))
    default: Default = None
    dim: Annotated[int, Field(ge=1)] | None = None
    """Length of a vector that only the request brings."""
    column: str = ""
    """The column, where the key is not its name but `variable@type`."""

    @model_validator(mode="after")
    def _dim_has_a_vector(self) -> ColumnUseDoc:
        if self.dim is not None and (self.dtype is None or not self.dtype.is_vector):
            raise ValueError("`dim` is the length of a vector: give `dtype` one, like FP32Vector")
        return self


def _column_use(value: object) -> object:
    return {"dtype": value} if isinstance(value, str) or value is None else value


ColumnUse = Annotated[ColumnUseDoc, BeforeValidator(_column_use)]


def _score_mapping(value: object) -> object:
    """The original's `variable@type: column` entries, beside `column: type` ones."""
    if not isinstance(value, dict):
        return value
    return {
        key: {"column": use, "dtype": key.rpartition("@")[2]}
        if isinstance(key, str) and "@" in key and isinstance(use, str)
        else use
        for key, use in value.items()
    }


class TensorInDoc(Doc):
    name: str
    features: Annotated[list[str], Field(min_length=1)]
    shape: Sizes = []
    """Without the batch dimension; -1 is worked out."""
    data_type: OptionalDType = None


class InputsDoc(Doc):
    feature_map: dict[str, ColumnUse] = {}
    """column → data type, in tensor order."""
    tensors: list[TensorInDoc] = []
    """Tensors spelled out; they win over feature_map."""


class TensorOutDoc(Doc):
    name: str
    model_scores: Annotated[list[str], Field(min_length=1)]
    model_scores_dims: list[Sizes] = []
    data_type: OptionalDType = None


class OutputsDoc(Doc):
    score_columns: list[str] = []
    data_type: OptionalDType = None
    tensors: list[TensorOutDoc] = []


class ModelDoc(StepDoc):
    model_name: str
    model_version: Text | None = None
    model_endpoint: str = Field(
        default="", validation_alias=AliasChoices("model_endpoint", "model_end_point")
    )
    model_end_points: Annotated[list[RouteDoc], BeforeValidator(_routes)] = []
    """endpoint → percentage of traffic, as a map or a list."""
    deadline: DurationMs = 0
    """Time one call may take; 0 sets none."""
    batch_size: Annotated[int, Field(ge=0)] = 0
    """Rows per call; 0 sends all at once."""
    calibration: Annotated[CalibrationDoc | None, BeforeValidator(_calibration)] = None
    inputs: Annotated[InputsDoc, BeforeValidator(_tensors)]
    outputs: Annotated[OutputsDoc, BeforeValidator(_tensors)]
    slate_component: bool = False
    slate_reduce: SlateReduce = "first"
    """How the scores of a slate's items become one, for a model that scores items."""
    nan_policy: NanPolicy = "pass"
    nan_default: float = 0.0


class ComputeDoc(StepDoc):
    score_column: str = Field(validation_alias=AliasChoices("score_column", "score_col"))
    data_type: OptionalDType = None
    score_mapping: Annotated[dict[str, ColumnUse], BeforeValidator(_score_mapping)]
    """column → type, or `variable@type` → column."""
    compute_id: Text
    slate_component: bool = False
    slate_reduce: SlateReduce = "first"
    nan_policy: NanPolicy = "pass"
    nan_default: float = 0.0
    domain_errors: Literal["mark", "fail"] = "mark"
    """A zero divisor or the log of nothing: blank its row, or fail the step."""


class ComponentsDoc(Doc):
    feature_component_config: dict[str, FeatureDoc] | None = None
    predator_component_config: dict[str, ModelDoc] | None = None
    numerix_component_config: dict[str, ComputeDoc] | None = None
    feature_components: list[FeatureDoc] | None = None
    predator_components: list[ModelDoc] | None = None
    numerix_components: list[ComputeDoc] | None = None
    cache_enabled: bool = False
    cache_version: Text = "1"
    cache_ttl: Seconds = 0
    """Seconds; 0 means 100."""
    error_logging_percent: Percent = 10


class DagDoc(Doc):
    component_dependency: Annotated[dict[str, list[str]], Field(min_length=1)]
    direction: Literal["children", "dependencies"] | None = None
    """How the lists read: what a component feeds, or what it needs. Worked out when absent."""


def _log_features(value: object) -> object:
    is_names = isinstance(value, list) and all(isinstance(name, str) for name in value)
    if not is_names and not isinstance(value, bool):
        raise ValueError("true, false or a list of column names is wanted")
    return value


class ResponseDoc(Doc):
    features: Annotated[list[str], Field(min_length=1)]
    model_schema_perc: Percent = Field(
        default=0, validation_alias=AliasChoices("model_schema_perc", "model_schema_features_perc")
    )
    logging_perc: Percent = 0
    log_features: Annotated[bool | list[str], BeforeValidator(_log_features)] = False
    log_batch_size: int = 0


class ConfigDoc(Doc):
    """One model config."""

    dag_execution_config: DagDoc
    component_config: ComponentsDoc
    response_config: ResponseDoc
    id_column: str = ""
    """The key column or entity whose ids are the targets, when it cannot be told otherwise."""
    predict_value_encoding: Literal["typed", "text", "auto"] | None = None


def _underscored(value: object) -> object:
    if isinstance(value, dict):
        return {str(key).replace("-", "_"): item for key, item in value.items()}
    return value


class ServiceDoc(Doc):
    """Settings that hold for all models; hyphens and underscores are the same."""

    model_config = ConfigDict(use_attribute_docstrings=True)

    v2_logging_type: Literal["proto", "arrow", "parquet"] = "proto"
    """How an inference log message is encoded."""
    compression_enabled: bool = False
    """Whether it is compressed."""


ServiceConfig = Annotated[ServiceDoc, BeforeValidator(_underscored)]

TOLERATED_KEYS = frozenset(
    {"real_time_pricing_feature_components", "seen_score_components", "logging_ttl"}
)
"""Keys that control planes of the original add and that mean nothing here: noted, not refused."""


def known_keys(location: Sequence[int | str]) -> set[str]:
    """Every key the object at a place may have, for hints."""
    doc: type[Doc] = ConfigDoc
    for part in location:
        for name, info in doc.model_fields.items():
            if part in _spellings(name, info):
                doc = _doc_in(info.annotation) or doc
                break
    return {key for name, info in doc.model_fields.items() for key in _spellings(name, info)}


def _spellings(name: str, info: FieldInfo) -> list[str]:
    aliases = info.validation_alias
    return [str(each) for each in aliases.choices] if isinstance(aliases, AliasChoices) else [name]


def _doc_in(annotation: Any) -> type[Doc] | None:
    """The kind of object a field holds, be it one, a list or a map of them."""
    if isinstance(annotation, type) and issubclass(annotation, Doc):
        return annotation
    return next((found for part in get_args(annotation) if (found := _doc_in(part))), None)
