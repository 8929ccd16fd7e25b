"""What the registry keeps, as plain frozen values.

Times are milliseconds since the epoch. Keys are `inferflow.access` values: they are the same
wherever they are kept.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


class Stage(enum.StrEnum):
    """How far a version has come. One version of a model is in production, or none."""

    DEV = "dev"
    STAGING = "staging"
    PRODUCTION = "production"
    ARCHIVED = "archived"


@dataclass(frozen=True, slots=True)
class FileInfo:
    """One file of a version: its name inside the version, never a place on disk."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Tensor:
    """One input or output of a model. `-1` in the shape is a free dimension."""

    name: str
    datatype: str
    shape: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class StageChange:
    from_stage: Stage | None
    """None for the first: the version was just published."""
    to_stage: Stage
    at_ms: int
    by: str
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """One published version of a model. Only its stage, history and problem ever change."""

    model: str
    number: int
    stage: Stage
    folder: str
    """Where its files lie in the model store. Made here, never by a caller."""
    digest: str
    files: tuple[FileInfo, ...]
    inputs: tuple[Tensor, ...]
    outputs: tuple[Tensor, ...]
    created_ms: int
    created_by: str
    options: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    note: str = ""
    """What the checks found worth saying."""
    problem: str = ""
    """Empty, or why it cannot be served."""
    history: tuple[StageChange, ...] = ()

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)


@dataclass(frozen=True, slots=True)
class Model:
    name: str
    versions: tuple[Version, ...]
    """Lowest number first."""
    traffic: Mapping[int, float] = field(default_factory=dict)
    """Percentages of production traffic by version; empty when one version takes all."""

    def production(self) -> Version | None:
        return next((v for v in self.versions if v.stage is Stage.PRODUCTION), None)


@dataclass(frozen=True, slots=True)
class UploadFile:
    path: str
    size: int
    sha256: str
    received: int = 0

    @property
    def is_complete(self) -> bool:
        return self.received == self.size


@dataclass(frozen=True, slots=True)
class Upload:
    """Files on their way in. Holds its version number until it is published or ends."""

    upload_id: str
    model: str
    number: int
    files: tuple[UploadFile, ...]
    created_ms: int
    expires_ms: int
    created_by: str
    options: Mapping[str, Any] = field(default_factory=dict)
    description: str = ""
    claimed_until_ms: int = 0
    """While it is being checked. A checker that died loses its claim at this time."""

    @property
    def size(self) -> int:
        return sum(file.size for file in self.files)

    def file(self, path: str) -> UploadFile | None:
        return next((file for file in self.files if file.path == path), None)


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of one uploaded file, stored as an object of its own."""

    path: str
    offset: int
    size: int
    object_name: str


@dataclass(frozen=True, slots=True)
class Usage:
    requests: int = 0
    last_used_ms: int = 0


@dataclass(frozen=True, slots=True)
class WorkerRecord:
    """A worker as it registered, and when it was last heard of."""

    worker_id: str
    address: str
    registered_ms: int
    last_seen_ms: int
    slots: int = 1
    memory_budget_bytes: int = 0
    devices: tuple[Mapping[str, Any], ...] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    software_version: str = ""
    draining: bool = False
    report: Mapping[str, Any] = field(default_factory=dict)
    """What it last said of itself; see `reports`."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """A worker was heard of."""

    at_ms: int
    report: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SealedKey:
    """A signing key as it is kept: unreadable without the manager's secret."""

    kid: str
    sealed: bytes = field(repr=False)
    signs_from_ms: int
    signs_until_ms: int
    verifies_until_ms: int


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """Who changed what. Entries are added and never changed."""

    at_ms: int
    by: str
    action: str
    subject: str
    detail: Mapping[str, Any] = field(default_factory=dict)
    model: str = ""
    """The model it is about; empty for what is about keys, workers and tokens."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A duty that one holder has until a time. `term` goes up whenever the holder changes, so
    work of an earlier holder can be told from the present one's."""

    name: str
    holder: str
    until_ms: int
    term: int
