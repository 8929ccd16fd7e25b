"""Connections to a Redis or Valkey server, or to a cluster of them; which of the two is asked.

Threads share one client. An event loop has one of its own, since connections belong to the loop
that made them; they close with the loop. What the library raises becomes an error of ours here,
and nowhere else. Nothing is tried again on a single server: the library looks at a connection
before it is used, so that one the server has closed is replaced and not noticed.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from inferflow.errors import InvalidInput, MissingExtra, StoreFailed, StoreUnreachable

_SCHEMES = ("redis", "rediss", "unix")


@dataclass(frozen=True, slots=True)
class RedisOptions:
    url: str
    """`redis://[user:password@]host[:port][/db]`, `rediss://…` for TLS, or `unix://…`; of a
    cluster one node, or several with commas between."""
    namespace: str = "inferflow"
    """What the names of all records begin with."""
    timeout_s: float = 1.0
    """For a connection to come up, and for an answer."""
    max_connections: int = 64
    """Per event loop and node."""
    ca_file: str = ""
    """For TLS: who has signed the server's certificate; the system's own when empty."""
    cert_file: str = ""
    key_file: str = ""
    """A certificate to show to it, and its key; none when empty."""


class RedisClients:
    def __init__(self, options: RedisOptions) -> None:
        try:
            import redis
            import redis.asyncio
        except ModuleNotFoundError as missing:
            raise MissingExtra("redis", for_what="the Redis feature backend") from missing
        self._library: Any = redis
        self._options = options
        self._urls = [url.strip() for url in options.url.split(",") if url.strip()]
        _check(self._urls)
        self._tls = _tls(self._urls, options)
        self.where = ", ".join(_shown(url) for url in self._urls)
        self._lock = threading.Lock()
        self._of_loops: dict[asyncio.AbstractEventLoop, tuple[Any, AsyncGenerator[None, None]]] = {}
        self._ending: asyncio.Task[None] | None = None
        self.is_cluster = self._find_out()
        self.overtaken: type[Exception] = redis.WatchError
        """Raised by a transaction when somebody else wrote first."""
        self.blocking: Any = self._cluster(redis) if self.is_cluster else self._single(redis)

    async def here(self) -> Any:
        """The client of the running event loop."""
        loop = asyncio.get_running_loop()
        found = self._of_loops.get(loop)
        if found is None:
            library = self._library.asyncio
            client = self._cluster(library) if self.is_cluster else self._single(library)
            found = (client, _closed_with_the_loop(client))
            with self._lock:
                gone = [each for each in self._of_loops if each.is_closed()]
                for each in gone:
                    del self._of_loops[each]
                self._of_loops[loop] = found
            await anext(found[1])
        return found[0]

    def close(self) -> None:
        """Close what threads use, and what event loops do; that of the running one as soon as it
        gets to it."""
        with self.translated("closed"):
            self.blocking.close()
        with self._lock:
            of_loops, self._of_loops = self._of_loops, {}
        for loop, (_, guard) in of_loops.items():
            self._end(loop, guard)

    def _end(self, loop: asyncio.AbstractEventLoop, guard: AsyncGenerator[None, None]) -> None:
        if not loop.is_running():
            return  # it closed them when it ended
        try:
            is_here = asyncio.get_running_loop() is loop
        except RuntimeError:
            is_here = False
        if is_here:
            self._ending = loop.create_task(_ended(guard))
        else:  # waited for, since the loop may be stopped next
            asyncio.run_coroutine_threadsafe(_ended(guard), loop).result()

    @contextmanager
    def translated(self, what: str) -> Iterator[None]:
        """Says that rows could not be read, written or the like, and whether waiting helps."""
        errors = self._library.exceptions
        try:
            yield
        except (errors.AuthenticationError, errors.NoPermissionError) as refused:
            raise StoreFailed(f"Redis at {self.where} refused these credentials") from refused
        except (
            errors.ConnectionError,
            errors.TimeoutError,
            errors.ClusterDownError,
            errors.MasterDownError,
            errors.ReadOnlyError,
            errors.TryAgainError,
            errors.RedisClusterException,
            OSError,
        ) as away:
            raise StoreUnreachable(
                f"Redis at {self.where} is away, so features could not be {what}: {away}"
            ) from away
        except errors.RedisError as failed:
            raise StoreFailed(
                f"Redis at {self.where}: features could not be {what}: {failed}"
            ) from failed

    # --- clients ----------------------------------------------------------------------------

    def _find_out(self) -> bool:
        """Whether the first server that answers is part of a cluster."""
        for at, url in enumerate(self._urls):
            try:
                with self.translated("opened"):
                    client = self._library.Redis.from_url(url, **self._limits(self._library))
                    with client:
                        return bool(client.info("cluster").get("cluster_enabled"))
            except StoreUnreachable:
                if at + 1 == len(self._urls):
                    raise
        raise InvalidInput("redis.url: there is none")

    def _single(self, library: Any) -> Any:
        pool = library.BlockingConnectionPool.from_url(
            self._urls[0],
            max_connections=self._options.max_connections,
            **self._limits(library),
        )
        return library.Redis.from_pool(pool)

    def _cluster(self, library: Any) -> Any:
        return library.RedisCluster.from_url(
            self._urls[0],
            startup_nodes=[_node(library, url) for url in self._urls[1:]] or None,
            max_connections=self._options.max_connections,
            **self._limits(library, tries=2),
        )

    def _limits(self, library: Any, *, tries: int = 0) -> dict[str, Any]:
        from redis.backoff import ConstantBackoff

        retry = library.retry.Retry(ConstantBackoff(0.05), tries)
        timeout_s = self._options.timeout_s
        limits = {"socket_timeout": timeout_s, "socket_connect_timeout": timeout_s, "retry": retry}
        return {**limits, **self._tls}


async def _closed_with_the_loop(client: Any) -> AsyncGenerator[None, None]:
    """Ends when its loop does: whoever runs a loop ends its generators first, and that is the only
    notice of its end there is."""
    try:
        yield
    finally:
        await client.aclose()


async def _ended(guard: AsyncGenerator[None, None]) -> None:
    await guard.aclose()


def _node(library: Any, url: str) -> Any:
    parts = urlsplit(url)
    return library.cluster.ClusterNode(parts.hostname or "localhost", parts.port or 6379)


def _check(urls: list[str]) -> None:
    for url in urls:
        try:
            parts = urlsplit(url)
            is_known = parts.scheme in _SCHEMES and (parts.port or 1) > 0
        except ValueError:
            is_known = False
        if not is_known:
            raise InvalidInput("redis.url: write redis://host:port, or rediss://host:port for TLS")
    if not urls:
        raise InvalidInput("redis.url: the Redis feature backend needs the server's URL")


def _tls(urls: list[str], options: RedisOptions) -> dict[str, Any]:
    """What the library has to know of certificates. Raises InvalidInput for files without TLS."""
    files = {
        "ssl_ca_certs": options.ca_file,
        "ssl_certfile": options.cert_file,
        "ssl_keyfile": options.key_file,
    }
    given = {name: file for name, file in files.items() if file}
    if not all(url.startswith("rediss://") for url in urls):
        if given:
            raise InvalidInput("redis.ca_file, cert_file, key_file: are for rediss:// servers")
        return {}
    if bool(options.cert_file) != bool(options.key_file):
        raise InvalidInput("redis.cert_file: a certificate and its key_file go together")
    return {**given, "ssl_cert_reqs": "required", "ssl_check_hostname": True}


def _shown(url: str) -> str:
    """Where a URL leads, without its secrets."""
    parts = urlsplit(url)
    return parts.path if parts.scheme == "unix" else f"{parts.hostname}:{parts.port or 6379}"
