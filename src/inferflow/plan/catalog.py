"""What the compiler asks about the world: feature types, model signatures, expressions.

The compiler is pure. Whatever lies outside the config it learns through a `Catalog`,
which the wiring fills from the feature schema, the model files and the expressions at hand.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from inferflow.dtypes import DType


@dataclass(frozen=True, slots=True)
class FeatureInfo:
    """One feature as the store's schema declares it."""

    name: str
    dtype: DType
    dim: int = 1
    """Elements of a vector; 1 for a scalar."""
    default: Any = None
    """Declared default in the feature's own type; None when the schema declares none."""


@dataclass(frozen=True, slots=True)
class GroupInfo:
    """Features that are written, read and expire together."""

    label: str
    features: Mapping[str, FeatureInfo]
    ttl_s: float | None = None


@dataclass(frozen=True, slots=True)
class EntityInfo:
    """One kind of thing features are kept for, and the names of its key parts in order."""

    label: str
    keys: tuple[str, ...]
    groups: Mapping[str, GroupInfo]


@dataclass(frozen=True, slots=True)
class UnknownEntity:
    """An entity of which only the service that has its features may know."""

    where: str
    """That service."""


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One input or output of a model. `None` in the shape is a free dimension."""

    name: str
    dtype: DType
    shape: tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class ModelSignature:
    """What a model takes and gives, read from the model itself."""

    model: str
    version: str
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    digest: str
    """Changes when the model's bytes change."""
    told: bytes = b""
    """Of a model elsewhere, what its server said, for whoever asked to read again."""


@dataclass(frozen=True, slots=True)
class UnknownSignature:
    """A model that is said to run elsewhere and could not be asked what it takes."""

    why: str
    is_silent: bool = False
    """Whether its server did not answer at all."""


MANAGER = "manager://"
"""What the address of a fleet's managers begins with."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model runs. `local[:model[@version]]` runs in this process."""

    text: str
    """As the config (or an endpoint alias) writes it; empty means local."""
    model: str
    version: str | None
    """None takes the highest version there is, in a fleet the one in production. A fleet also takes
    the name of a stage."""
    address: str | None = None
    """host:port of a remote server, several with commas, or None for this process. With
    `manager://` in front, managers of the fleet it runs in."""

    @property
    def is_local(self) -> bool:
        return self.address is None

    @property
    def managers(self) -> str:
        """host:port of whom to ask for workers, several with commas; empty when nobody need be."""
        address = self.address or ""
        return address.removeprefix(MANAGER) if address.startswith(MANAGER) else ""


@dataclass(frozen=True, slots=True)
class RemotePolicy:
    """Which servers configs may name, and what stands where they leave something out."""

    allow: tuple[str, ...] = ("*",)
    """Patterns of `host:port`."""
    port: int | None = None
    """Of endpoints that name a host alone; None refuses them."""


@dataclass(frozen=True, slots=True)
class ExpressionInfo:
    """What the compiler must know of an expression."""

    variables: tuple[str, ...]
    """Names it reads, in first-use order."""
    cross_row: bool
    """True when a row's answer depends on other rows (rank, softmax, …)."""
    numeric: frozenset[str]
    """Variables that must be numbers; the others may be text or vectors."""
    digest: str


@dataclass(frozen=True, slots=True)
class UnknownExpression:
    """An expression that only the service which computes it may know."""

    where: str
    """That service."""


class Catalog(Protocol):
    """Answers about the world outside the config. Unknown things are `None`, with the names
    that are known available for hints; a model that is there but broken raises ModelUnreadable."""

    @property
    def remote(self) -> RemotePolicy: ...

    def entity(self, label: str) -> EntityInfo | UnknownEntity | None: ...

    def entity_labels(self) -> Collection[str]: ...

    def resolve_endpoint(self, text: str) -> str:
        """The endpoint an alias stands for; any other text comes back unchanged."""
        ...

    def signature(self, endpoint: Endpoint) -> ModelSignature | UnknownSignature | None:
        """The model's signature; None when there is no such model where the endpoint points."""
        ...

    def model_names(self) -> Collection[str]: ...

    def expression(self, compute_id: str) -> ExpressionInfo | UnknownExpression | None: ...

    def compute_ids(self) -> Collection[str]: ...
