"""A feature store that can be looked at and not changed, for those who only try things.

Not by leaving writes out, but by refusing them: whatever is built on such a store, at any depth,
cannot change a row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NoReturn

from inferflow.engine.deadline import Deadline
from inferflow.errors import InvalidInput
from inferflow.featurestore.backend import Backend, Change, RemoteBackend, Rows
from inferflow.featurestore.store import FeatureStore


class ReadOnlyBackend:
    """The rows of another backend, which its owner closes."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._backend.get_many(keys)

    def replace(self, keys: Sequence[bytes], rows: Rows) -> NoReturn:  # noqa: ARG002
        _refuse()

    def update(self, keys: Sequence[bytes], change: Change) -> NoReturn:  # noqa: ARG002
        _refuse()

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        return self._backend.scan(prefix)

    def close(self) -> None:
        """Nothing of its own is open."""


class RemoteReadOnlyBackend(ReadOnlyBackend):
    """The same for rows in another process."""

    def __init__(self, backend: RemoteBackend) -> None:
        super().__init__(backend)
        self._remote = backend

    async def fetch_many(self, keys: Sequence[bytes], *, deadline: Deadline) -> list[bytes | None]:
        return await self._remote.fetch_many(keys, deadline=deadline)


def _refuse() -> NoReturn:
    raise InvalidInput("this view of the feature store is for reading; nothing was written")


def read_only(backend: Backend) -> ReadOnlyBackend:
    if isinstance(backend, RemoteBackend):
        return RemoteReadOnlyBackend(backend)
    return ReadOnlyBackend(backend)


def read_only_store(store: FeatureStore) -> FeatureStore:
    """The same rows under the same schema."""
    return FeatureStore(store.schema, read_only(store.backend))
