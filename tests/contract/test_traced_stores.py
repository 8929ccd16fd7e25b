"""Calls to Redis, etcd and Kafka are spans of what they are made for, without keys or values."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Iterator
from typing import Any

import pytest

from inferflow.engine.deadline import Deadline
from inferflow.errors import StoreUnreachable
from inferflow.featurestore import RedisBackend, RedisOptions
from inferflow.rpc.etcd import EtcdClient, Put
from inferflow.tracing import Span

from ..servers.etcd import EtcdServer, etcd  # noqa: F401
from ..servers.processes import free_port
from ..servers.redis import RedisServer, redis_server  # noqa: F401
from ..servers.spans import for_a_span

KEYS = [b"secret-1", b"secret-2"]


@pytest.fixture
def backend(redis_server: RedisServer) -> Iterator[RedisBackend]:  # noqa: F811
    opened = RedisBackend(RedisOptions(redis_server.url, namespace="traced", timeout_s=5))
    yield opened
    opened.close()


def told(spans: list[Span]) -> list[tuple[str, str, str | None]]:
    return [(span.name, span.kind, span.error) for span in spans]


def test_reads_and_writes_of_redis_are_spans(backend: RedisBackend) -> None:
    def work() -> None:
        backend.replace(KEYS, KEYS)
        backend.update(KEYS, lambda old: old)
        assert backend.get_many(KEYS) == KEYS
        asyncio.run(backend.fetch_many(KEYS, deadline=Deadline(5_000)))

    _, span, ended = for_a_span(work)
    assert told(ended) == [
        ("redis SET", "client", None),
        ("redis SET", "client", None),
        ("redis MGET", "client", None),
        ("redis MGET", "client", None),
    ]
    assert {each.parent_id for each in ended} == {span.context.span_id}
    assert {each.facts["db.system.name"] for each in ended} == {"redis"}
    assert "secret" not in "".join(f"{each.name} {each.facts}" for each in ended)


def test_redis_that_is_away_is_a_failed_span(redis_server: RedisServer) -> None:  # noqa: F811
    backend = RedisBackend(RedisOptions(redis_server.url, namespace="traced"))
    pool = backend._clients.blocking.connection_pool
    pool.disconnect()
    pool.connection_kwargs["port"] = free_port()

    def work() -> None:
        with pytest.raises(StoreUnreachable):
            backend.get_many(KEYS)

    _, _, ended = for_a_span(work)
    backend.close()
    assert told(ended) == [("redis MGET", "client", "ConnectionError")]


def test_where_nothing_is_kept_redis_makes_no_spans(backend: RedisBackend) -> None:
    assert for_a_span(lambda: backend.get_many(KEYS), share=0)[2] == []
    backend.get_many(KEYS)  # and nothing breaks without a span


def test_calls_to_etcd_are_spans(etcd: EtcdServer) -> None:  # noqa: F811
    client: EtcdClient = etcd.client()
    key = f"/{etcd.new_app()}/".encode()

    def work() -> None:
        client.change([], [Put(key, b"x")])
        client.get(key)

    _, span, ended = for_a_span(work)
    client.close()
    assert told(ended) == [
        ("etcdserverpb.KV/Txn", "client", None),
        ("etcdserverpb.KV/Range", "client", None),
    ]
    assert {each.parent_id for each in ended} == {span.context.span_id}


def test_a_thread_that_an_event_loop_starts_works_for_the_same_span(etcd: EtcdServer) -> None:  # noqa: F811
    client: EtcdClient = etcd.client()

    async def work() -> Any:
        return await asyncio.to_thread(client.get, b"/nothing")

    _, span, ended = for_a_span(lambda: asyncio.run(work()))
    client.close()
    assert [each.parent_id for each in ended] == [span.context.span_id]
    contextvars.Context().run(client.close)
