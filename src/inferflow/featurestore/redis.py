"""Rows in Redis or Valkey: one server, or a cluster.

A row carries its own expiry, by which it is read; Redis is told a longer one, which only cleans
up, so that a row past its time is known to have expired for a while. A single server writes a
batch as one transaction. A cluster does so with all records of an entity key; it has no promise
for more than that, so a batch that fails half-way there is to be written again.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Sequence

from inferflow.engine.deadline import Deadline
from inferflow.errors import DeadlinePassed
from inferflow.featurestore.backend import Change, Rows
from inferflow.featurestore.keys import META
from inferflow.featurestore.redis_clients import RedisClients, RedisOptions
from inferflow.featurestore.redis_names import Names
from inferflow.featurestore.redis_writing import Kept, Swaps, Transactions, Writing
from inferflow.featurestore.rowcodec import lifetime_ms
from inferflow.tracing import Fact, calling

_PAGE = 1000
_LEAST_KEPT_MS = 3_600_000
"""A row that has expired stays for as long again as it lived, and at least this long."""


class RedisBackend:
    def __init__(self, options: RedisOptions) -> None:
        self._names = Names(options.namespace)
        self._clients = RedisClients(options)
        self._timeout_s = options.timeout_s
        self._reading, self._changing = _spans("MGET"), _spans("SET")
        client = self._clients.blocking
        self._writing: Writing = (
            Swaps(client)
            if self._clients.is_cluster
            else Transactions(client, self._clients.overtaken)
        )
        # Writers of one process would only get in each other's way.
        self._turn = threading.Lock()

    async def fetch_many(self, keys: Sequence[bytes], *, deadline: Deadline) -> list[bytes | None]:
        names = self._names.of(keys)
        left_s = deadline.remaining_s()
        with self._clients.translated("read"), calling(*self._reading):
            client = await self._clients.here()
            read = client.mget_nonatomic if self._clients.is_cluster else client.mget
            try:
                # The library's timeout is for one look at a socket, and does not count the wait
                # for a connection.
                async with asyncio.timeout(min(left_s, self._timeout_s)):
                    found: list[bytes | None] = await read(names)
                    return found
            except TimeoutError:
                if left_s > self._timeout_s:
                    raise
            raise DeadlinePassed("reading features", deadline.budget_ms)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        if not keys:
            return []
        client = self._clients.blocking
        read = client.mget_nonatomic if self._clients.is_cluster else client.mget
        with self._clients.translated("read"), calling(*self._reading):
            found: list[bytes | None] = read(self._names.of(keys))
            return found

    def replace(self, keys: Sequence[bytes], rows: Rows) -> None:
        if keys:
            with self._turn, self._clients.translated("written"), calling(*self._changing):
                self._writing.replace(self._names.of(keys), _records(keys, rows))

    def update(self, keys: Sequence[bytes], change: Change) -> None:
        if keys:
            with self._turn, self._clients.translated("written"), calling(*self._changing):
                self._writing.update(self._names.of(keys), lambda old: _records(keys, change(old)))

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        """Looks at every name on the server, and holds those under the prefix to sort them."""
        with self._clients.translated("listed"):
            names = self._clients.blocking.scan_iter(self._names.pattern(prefix), count=_PAGE)
            found = {self._names.key(name) for name in names}
        keys = sorted(key for key in found if key.startswith(prefix))
        for start in range(0, len(keys), _PAGE):
            page = keys[start : start + _PAGE]
            for key, row in zip(page, self.get_many(page), strict=True):
                if row is not None:
                    yield key, row

    def close(self) -> None:
        self._clients.close()


def _spans(command: str) -> tuple[str, dict[str, Fact]]:
    """What is told of a call in a trace: no keys, and none of the names they have in Redis."""
    return f"redis {command}", {"db.system.name": "redis", "db.operation.name": command}


def _records(keys: Sequence[bytes], rows: Rows) -> list[Kept]:
    return [_kept(key, row) for key, row in zip(keys, rows, strict=True)]


def _kept(key: bytes, row: bytes | None) -> Kept:
    if row is None:
        return "gone", b""
    lived_ms = None if key.startswith(META) else lifetime_ms(row)
    if lived_ms is None:
        return "ever", row
    return lived_ms + max(lived_ms, _LEAST_KEPT_MS), row
