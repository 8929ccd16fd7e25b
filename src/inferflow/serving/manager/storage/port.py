"""Where a manager keeps what it must not forget.

Everything happens in a transaction: all of it or none. There is one writing transaction at a time,
over every manager on the same database, so what it has read stays true until it ends; services
check and then write without further locks. Reading transactions see one moment and hold nobody up.
Each writing transaction moves the revision, by which others notice that they should look again.

Storage keeps and finds. What may follow on what is the services' business.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Protocol

from inferflow.access import StoredKey
from inferflow.serving.manager.storage.records import (
    AuditEntry,
    Lease,
    Model,
    Part,
    SealedKey,
    Sighting,
    Stage,
    StageChange,
    Upload,
    Usage,
    Version,
    WorkerRecord,
)


class Models(Protocol):
    async def last_number(self, model: str) -> int:
        """The highest number a version of this model ever had; 0 for a new name."""
        ...

    async def get(self, model: str) -> Model | None:
        """A model with all its versions, or None when it has none."""
        ...

    async def all(self) -> tuple[Model, ...]:
        """Models that have a version, by name."""
        ...

    async def add_version(self, version: Version) -> None:
        """Keep a version with its history. Raises RegistryConflict when its number is taken."""
        ...

    async def move(self, model: str, number: int, change: StageChange) -> None:
        """Give a version the stage of a change, and keep the change."""
        ...

    async def set_problem(self, model: str, number: int, problem: str) -> None: ...

    async def set_traffic(self, model: str, traffic: Mapping[int, float]) -> None:
        """Replace all weights of a model."""
        ...

    async def delete_version(self, model: str, number: int) -> None: ...

    async def in_stage(self, stage: Stage) -> tuple[Version, ...]: ...

    async def folders(self) -> frozenset[str]:
        """Every folder of the model store that belongs to a version."""
        ...

    async def bytes_of(self, key_id: str) -> int:
        """How much of the model store versions made by one key take."""
        ...


class Keys(Protocol):
    async def add(self, key: StoredKey) -> None: ...

    async def all(self) -> tuple[StoredKey, ...]:
        """Oldest first."""
        ...

    async def revoke(self, key_id: str, at_ms: int) -> bool:
        """False when there is no such key. A revoked key keeps its first time."""
        ...

    async def add_usage(self, used: Mapping[str, int], at_ms: int) -> None:
        """Count calls by key. Keys that are not known are left out."""
        ...

    async def usage(self) -> Mapping[str, Usage]: ...


class Uploads(Protocol):
    async def add(self, upload: Upload) -> None: ...

    async def get(self, upload_id: str) -> Upload | None: ...

    async def all(self) -> tuple[Upload, ...]: ...

    async def add_part(self, upload_id: str, part: Part) -> None:
        """Keep a stretch of a file; the file has then been received up to its end."""
        ...

    async def parts(self, upload_id: str) -> tuple[Part, ...]:
        """By file and offset."""
        ...

    async def extend(self, upload_id: str, expires_ms: int) -> None: ...

    async def claim(self, upload_id: str, until_ms: int) -> None: ...

    async def delete(self, upload_id: str) -> None: ...


class Workers(Protocol):
    async def save(self, worker: WorkerRecord) -> None:
        """Add a worker, or replace what was known about it."""
        ...

    async def seen(self, sightings: Mapping[str, Sighting]) -> None:
        """When workers were last heard of, and what they said. What is known to be newer stays;
        unknown workers are left out."""
        ...

    async def set_draining(self, worker_id: str) -> bool:
        """False when there is no such worker."""
        ...

    async def all(self) -> tuple[WorkerRecord, ...]: ...

    async def delete(self, worker_id: str) -> None: ...


class Signing(Protocol):
    async def save(self, key: SealedKey) -> None:
        """Add a key, or replace its times."""
        ...

    async def all(self) -> tuple[SealedKey, ...]: ...

    async def delete(self, kid: str) -> None: ...

    async def revoke_token(self, token_id: str, until_ms: int) -> None: ...

    async def revoked_tokens(self, now_ms: int) -> frozenset[str]: ...

    async def forget_tokens(self, now_ms: int) -> None:
        """Drop revocations of tokens that have ended anyway."""
        ...


class Audit(Protocol):
    async def add(self, entry: AuditEntry) -> None: ...

    async def latest(
        self, limit: int, *, by: str = "", models: Collection[str] | None = None
    ) -> Sequence[AuditEntry]:
        """Newest first: of everybody or of one key, of everything or about some models."""
        ...

    async def models(self) -> frozenset[str]:
        """Models that an entry is about, deleted ones too."""
        ...


class Duties(Protocol):
    async def take(self, name: str, holder: str, *, now_ms: int, until_ms: int) -> Lease:
        """Take or keep a duty. The lease that is returned names whoever has it now."""
        ...

    async def release(self, name: str, holder: str) -> None:
        """Give a duty up, when it is this holder's."""
        ...


class Facts(Protocol):
    """Small texts about the database itself."""

    async def get(self, name: str) -> str | None: ...

    async def set(self, name: str, value: str) -> None: ...


class Transaction(Protocol):
    @property
    def models(self) -> Models: ...
    @property
    def keys(self) -> Keys: ...
    @property
    def uploads(self) -> Uploads: ...
    @property
    def workers(self) -> Workers: ...
    @property
    def signing(self) -> Signing: ...
    @property
    def audit(self) -> Audit: ...
    @property
    def duties(self) -> Duties: ...
    @property
    def facts(self) -> Facts: ...


class Storage(Protocol):
    def reading(self) -> AbstractAsyncContextManager[Transaction]:
        """See one moment. Raises RegistryBusy or RegistryFailed."""
        ...

    def writing(self, *, quietly: bool = False) -> AbstractAsyncContextManager[Transaction]:
        """Change something, alone; leaving by an exception changes nothing.

        `quietly` leaves the revision where it is: for counts and times that nobody waits for.
        """
        ...

    async def revision(self) -> int:
        """A number that moved when anything was written since it was last asked for."""
        ...

    async def close(self) -> None: ...
