"""What a medium must do to keep feature rows: five calls over byte keys and byte values, and one
more where it is not in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, runtime_checkable

from inferflow.engine.deadline import Deadline

Rows = Sequence[bytes | None]
"""One row per key; None where there is none."""
Change = Callable[[list[bytes | None]], Rows]
"""Old rows in, new rows out. Must have no other effect: it may be run more than once."""


class Backend(Protocol):
    """Keeps byte values under byte keys (1 to 511 bytes), in key order.

    A write is all or nothing, for readers in every process and across a crash; when it returns
    it is there to stay as far as the medium promises. A cluster promises all this of the rows of
    one entity key, whatever group they are of; a larger write that fails half-way says so, and
    made again it is complete. Every failure is a StoreFailed.
    Safe to call from several threads. The keys of one write are unique.
    """

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """The value of each key, all from one moment in time."""
        ...

    def replace(self, keys: Sequence[bytes], rows: Rows) -> None:
        """Put each row under its key, whatever is there; None deletes."""
        ...

    def update(self, keys: Sequence[bytes], change: Change) -> None:
        """Read, change and write with nobody in between."""
        ...

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Everything under a prefix, in key order. Writes during the scan may or may not show."""
        ...

    def close(self) -> None: ...


@runtime_checkable
class RemoteBackend(Backend, Protocol):
    """A medium in another process. What is asked while a request waits is asked here."""

    async def fetch_many(self, keys: Sequence[bytes], *, deadline: Deadline) -> list[bytes | None]:
        """`get_many` for an event loop. Raises DeadlinePassed besides StoreFailed."""
        ...
