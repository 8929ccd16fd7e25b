"""What the core needs from the world, in its own words.

Each port is prepared once, when a plan is loaded, and then called per request. Ports have
one async form. An implementation that sets `is_local` promises that its coroutine finishes
without suspending, so it can be driven without an event loop.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from inferflow.compute import Evaluation
from inferflow.dtypes import DType
from inferflow.engine.deadline import Deadline
from inferflow.errors import DeadlinePassed, ModelFailed, Overloaded, Unreachable
from inferflow.plan.catalog import Endpoint
from inferflow.plan.query import FeatureRead as FeatureRead
from inferflow.plan.query import GroupRead as GroupRead
from inferflow.plan.query import RunRead as RunRead

Array = np.ndarray[Any, np.dtype[Any]]


# --- features -------------------------------------------------------------------------------


class ReadState(enum.IntEnum):
    """Where a feature value came from. Callers, logs and `explain` must be able to say."""

    REAL = 0
    DEFAULT = 1
    """The key is there, but its row was written before this feature existed."""
    MISSING = 2
    """The store has never seen the key."""
    EXPIRED = 3
    """The row is there but past its time to live."""
    FAILED = 4
    """The store could not be asked."""
    PINNED = 5
    """The request brought the value itself."""


KeyColumns = tuple[Sequence[str], ...]
"""One sequence per key part, all of the same length; row i of each together is key i."""


@dataclass(slots=True)
class GroupRows:
    """Rows of one group. Row i belongs to key i."""

    runs: tuple[Array, ...]
    """One array per RunRead, shape [keys, sum(widths)]. Rows that are not real hold defaults."""
    states: Array | None = None
    """ReadState per key as uint8; None means every key is REAL."""
    absent: Mapping[str, Array] = field(default_factory=dict)
    """feature → mask of keys whose row predates the feature (ReadState.DEFAULT)."""
    written_ms: Array | None = None
    """When each row was written, in ms since the epoch; 0 where there is none."""


@dataclass(slots=True)
class FeatureRows:
    groups: tuple[GroupRows, ...]
    failure: str = ""
    """Why some keys are FAILED, when some are."""


class PreparedRead(Protocol):
    async def fetch(self, keys: KeyColumns, *, deadline: Deadline) -> FeatureRows:
        """Read a batch of keys (unique, at least one).

        A key the store has never seen is marked MISSING; it is not an error.
        Raising (StoreFailed, DeadlinePassed) means the store could not answer.
        """
        ...


class FeatureReader(Protocol):
    """Reads features for batches of entity keys."""

    is_local: bool

    def prepare(self, read: FeatureRead) -> PreparedRead:
        """Resolve a query once. Raises NotFound when the schema has no such thing."""
        ...


# --- models ---------------------------------------------------------------------------------


MODEL_FAILURES = (ModelFailed, DeadlinePassed, Unreachable, Overloaded)
"""How a call of a model may end without an answer."""


class PreparedModel(Protocol):
    endpoint: Endpoint
    version: str
    """The version that answers now; empty while a server has not said."""

    async def run(self, tensors: Sequence[Array], *, deadline: Deadline) -> Sequence[Array]:
        """Run the model on one batch: tensors in the prepared input order, outputs likewise.

        Raises one of MODEL_FAILURES. Arrays of the answer may be read-only.
        """
        ...


class ModelRunner(Protocol):
    """Runs models, wherever they are."""

    def is_local(self, endpoint: Endpoint) -> bool: ...

    def prepare(
        self, endpoint: Endpoint, inputs: tuple[str, ...], outputs: tuple[str, ...]
    ) -> PreparedModel: ...


# --- compute --------------------------------------------------------------------------------


Computed = Evaluation
"""One value per row, which rows have none, and why."""


class PreparedCompute(Protocol):
    @property
    def batch_size(self) -> int | None:
        """Most rows of one call; None when all belong together, or there is no such limit."""
        ...

    async def run(self, columns: Sequence[Array], rows: int, *, deadline: Deadline) -> Computed:
        """Evaluate over all rows at once. Columns come in the prepared variable order;
        a column of length 1 stands for every row."""
        ...


class ComputeRunner(Protocol):
    """Evaluates named expressions."""

    is_local: bool
    endpoint: str
    """Where; empty for this process."""

    def prepare(
        self, compute_id: str, variables: tuple[str, ...], *, precision: DType, strict: bool
    ) -> PreparedCompute:
        """Bind an expression. `strict` makes a domain error fail the call instead of its row."""
        ...
