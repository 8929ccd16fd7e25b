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


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where a model runs. `local[:model[@version]]` runs in this process."""

    text: str
    """As the config (or an endpoint alias) writes it; empty means local."""
    model: str
    version: str | None
    """None takes the highest version there is."""
    address: str | None = None
    """host:port of a remote server, or None for this process."""

    @property
    def is_local(self) -> bool:
        return self.address is None


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


class Catalog(Protocol):
    """Answers about the world outside the config. Unknown things are `None`, with the names
    that are known available for hints; a model that is there but broken raises ModelUnreadable."""

    def entity(self, label: str) -> EntityInfo | None: ...

    def entity_labels(self) -> Collection[str]: ...

    def resolve_endpoint(self, text: str) -> str:
        """The endpoint an alias stands for; any other text comes back unchanged."""
        ...

    def signature(self, endpoint: Endpoint) -> ModelSignature | None:
        """The model's signature, or None when there is no such model or it cannot be asked."""
        ...

    def model_names(self) -> Collection[str]: ...

    def expression(self, compute_id: str) -> ExpressionInfo | None: ...

    def compute_ids(self) -> Collection[str]: ...
