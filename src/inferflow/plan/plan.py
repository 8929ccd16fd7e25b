"""The compiled plan: every name resolved, every width known, nothing a request can bend.

Values live in blocks: 2-D arrays of one element type, one row per target (or per slate), or
a single row that stands for all. A column is a stretch of one block. Features of a group
that share a type lie side by side in one block, so that whole groups are moved at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from inferflow.dtypes import DType
from inferflow.plan.catalog import Endpoint, ModelSignature
from inferflow.plan.problems import Problem
from inferflow.plan.query import FeatureRead
from inferflow.plan.schema import NanPolicy, OnError, SlateReduce

Space = Literal["target", "slate"]
StepKind = Literal["init", "feature", "model", "compute"]


@dataclass(frozen=True, slots=True)
class Block:
    index: int
    dtype: DType | None
    """Element type; None when only the request can say."""
    width: int | None
    """Elements per row; None when only the request can say."""
    space: Space
    step: str
    """The one step that writes it."""


@dataclass(frozen=True, slots=True)
class Column:
    name: str
    dtype: DType | None
    width: int | None
    block: int
    offset: int
    space: Space
    step: str
    has_default: bool = True
    """False for a feature with no declared default: a stand-in value is then no real key."""

    @property
    def is_vector(self) -> bool:
        return self.dtype is not None and self.dtype.is_vector


@dataclass(frozen=True, slots=True)
class RequestColumn:
    """A name that only the request brings (or a constant the config implies)."""

    name: str
    role: Literal["key", "value", "constant"]
    dtype: DType | None
    """What it is converted to on arrival; None keeps what came."""
    width: int | None
    default: Any
    target: Column | None
    slate: Column | None
    """Where a pair- or slate-level value of this name goes, if a slate step reads it."""
    wheres: tuple[str, ...]
    """Who asks for it, for error messages. Empty: only the response does."""
    per_target: bool
    """True when a step that works per target reads it, so slate-level values do not do."""


@dataclass(frozen=True, slots=True)
class Step:
    """One component call with every name already resolved."""

    kind: ClassVar[StepKind]
    name: str
    index: int
    level: int
    """Longest path from the root. Steps on one level never read each other."""
    needs: tuple[int, ...]
    feeds: tuple[int, ...]
    on_error: OnError
    timeout_ms: float | None
    """Time this step may take, before the request's own deadline is applied."""
    writes: tuple[Column, ...]
    reads: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class InitStep(Step):
    kind: ClassVar[StepKind] = "init"


@dataclass(frozen=True, slots=True)
class KeySource:
    name: str
    column: Column


@dataclass(frozen=True, slots=True)
class Fill:
    """A config default: what a feature's stretch of a block holds where the store has nothing."""

    run: tuple[int, int]
    """(group, run) it belongs to."""
    start: int
    stop: int
    value: Any


@dataclass(frozen=True, slots=True)
class CacheRule:
    scope: str
    """Config, cache version, component and query digest: entries of another never match."""
    ttl_s: float


@dataclass(frozen=True, slots=True)
class FeatureStep(Step):
    kind: ClassVar[StepKind] = "feature"
    entity: str = ""
    read: FeatureRead | None = None
    """None for a component that only joins keys."""
    keys: tuple[KeySource, ...] = ()
    blocks: tuple[tuple[int, ...], ...] = ()
    """Block of each run of each group."""
    defaults: tuple[tuple[Any, ...], ...] = ()
    """One row of each run of each group, as it looks where the store has nothing."""
    fills: tuple[Fill, ...] = ()
    kept_keys: tuple[tuple[int, Column], ...] = ()
    """(key part, column) for keys somebody reads."""
    id_column: Column | None = None
    cache: CacheRule | None = None
    batch_size: int = 0


@dataclass(frozen=True, slots=True)
class Source:
    """Where a reader finds one of its columns: at slate level if there, else per target."""

    name: str
    target: Column | None
    slate: Column | None
    via: DType | None
    """Element type the value passes through before it is used; None means straight."""
    width: int


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of a block that goes to a stretch of a tensor in one move."""

    block: int
    start: int
    stop: int
    at: int
    via: DType | None
    is_plain: bool = False
    """True when the types are known to convert by plain assignment."""


@dataclass(frozen=True, slots=True)
class TensorPlan:
    name: str
    dtype: DType
    shape: tuple[int | None, ...]
    """As the model declares it, batch dimension included."""
    sources: tuple[Source, ...]
    width: int
    pieces: tuple[Piece, ...]
    """The moves that fill it, when the step works per target."""


@dataclass(frozen=True, slots=True)
class OutputPlan:
    tensor: str
    block: int
    width: int
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class ModelArm:
    """One way a request may be routed, with tensors fitted to that very model."""

    endpoint: Endpoint
    signature: ModelSignature
    tensors: tuple[TensorPlan, ...]
    outputs: tuple[OutputPlan, ...]


@dataclass(frozen=True, slots=True)
class Routes:
    """Shares of traffic by cumulative percentage; what is left goes to the last arm."""

    bounds: tuple[float, ...]
    salt: str


@dataclass(frozen=True, slots=True)
class Calibration:
    kind: Literal["platt", "isotonic", "expression"]
    column: Column
    a: float = 0.0
    b: float = 0.0
    x: tuple[float, ...] = ()
    y: tuple[float, ...] = ()
    compute_id: str = ""
    variable: str = ""


@dataclass(frozen=True, slots=True)
class ModelStep(Step):
    kind: ClassVar[StepKind] = "model"
    model: str = ""
    arms: tuple[ModelArm, ...] = ()
    routes: Routes | None = None
    """None when there is one arm only."""
    batch_size: int = 0
    calibrations: tuple[Calibration, ...] = ()
    nan_policy: NanPolicy = "pass"
    nan_default: float = 0.0
    slate: bool = False
    slate_reduce: SlateReduce = "first"


@dataclass(frozen=True, slots=True)
class ComputeStep(Step):
    kind: ClassVar[StepKind] = "compute"
    compute_id: str = ""
    variables: tuple[str, ...] = ()
    sources: tuple[Source, ...] = ()
    """One per variable."""
    output: Column | None = None
    precision: DType | None = None
    strict: bool = False
    cross_row: bool = False
    nan_policy: NanPolicy = "pass"
    nan_default: float = 0.0
    slate: bool = False
    slate_reduce: SlateReduce = "first"


@dataclass(frozen=True, slots=True)
class Response:
    targets: tuple[tuple[str, Column], ...]
    """(name as written, column) per target."""
    slates: tuple[tuple[str, Column], ...]
    """The same for what slate steps wrote."""
    full: tuple[tuple[str, Column], ...]
    """All model inputs, then the remaining target columns: the sampled full schema."""
    model_schema_perc: int


@dataclass(frozen=True, slots=True)
class LogPlan:
    columns: tuple[tuple[str, Column], ...]
    """What is logged, in the order decoders expect."""
    percent: int
    batch_size: int
    version: int
    """The config's own number for this list of columns; decoders find the list by it."""
    inputs: frozenset[str]
    """Those that are logged only because a step reads them: decoders expect them as text."""


@dataclass(frozen=True, slots=True)
class Plan:
    config_id: str
    digest: str
    """Of config, feature schema, expressions and models together."""
    blocks: tuple[Block, ...]
    steps: tuple[Step, ...]
    """In an order in which each comes after what it needs; the root is first."""
    columns: Mapping[str, Column]
    """Every column by every name it may be called by."""
    request_columns: tuple[RequestColumn, ...]
    response: Response
    log: LogPlan
    id_column: str
    value_encoding: Literal["typed", "text", "auto"]
    error_logging_percent: int
    readings: tuple[str, ...]
    notes: tuple[Problem, ...]

    @property
    def has_slate_steps(self) -> bool:
        return any(isinstance(s, ModelStep | ComputeStep) and s.slate for s in self.steps)
