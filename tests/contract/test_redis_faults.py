"""What happens to readers and writers when Redis goes, hangs, or does not know them."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Iterator

import pytest

from inferflow.engine.deadline import Deadline
from inferflow.errors import DeadlinePassed, InvalidInput, StoreFailed, StoreUnreachable
from inferflow.featurestore import RedisBackend, RedisOptions

from ..servers.redis import RedisServer, own_redis  # noqa: F401

KEYS = [b"%d" % number for number in range(20)]


@pytest.fixture
def backend(own_redis: RedisServer) -> Iterator[RedisBackend]:  # noqa: F811
    opened = RedisBackend(RedisOptions(own_redis.url, timeout_s=5))
    opened.replace(KEYS, KEYS)
    yield opened
    opened.close()


def soon(milliseconds: float = 5_000) -> Deadline:
    return Deadline(milliseconds)


def test_a_server_that_is_gone_is_a_typed_error_and_one_that_is_back_is_used_again(
    backend: RedisBackend,
    own_redis: RedisServer,  # noqa: F811
) -> None:
    async def reads() -> None:
        assert await backend.fetch_many(KEYS, deadline=soon()) == KEYS
        own_redis.process.stop(signal.SIGKILL)
        for _ in range(3):
            with pytest.raises(StoreUnreachable, match=f"127.0.0.1:{own_redis.port} is away"):
                await backend.fetch_many(KEYS, deadline=soon())
            with pytest.raises(StoreUnreachable):
                backend.get_many(KEYS)
            with pytest.raises(StoreUnreachable):
                backend.update(KEYS, lambda old: old)
        own_redis.start()
        assert await backend.fetch_many(KEYS, deadline=soon()) == [None] * 20
        backend.replace(KEYS, KEYS)
        assert await backend.fetch_many(KEYS, deadline=soon()) == KEYS

    asyncio.run(reads())


@pytest.mark.scenario("D14")
def test_an_answer_that_came_too_late_is_never_taken_for_the_next_one(
    backend: RedisBackend,
    own_redis: RedisServer,  # noqa: F811
) -> None:
    async def reads() -> None:
        own_redis.process.pause()
        late = [backend.fetch_many([key], deadline=soon(50)) for key in KEYS[:8]]
        for answer in await asyncio.gather(*late, return_exceptions=True):
            assert isinstance(answer, DeadlinePassed)
        own_redis.process.resume()
        found = [backend.fetch_many([key], deadline=soon()) for key in reversed(KEYS)]
        assert await asyncio.gather(*found) == [[key] for key in reversed(KEYS)]

    asyncio.run(reads())


@pytest.mark.scenario("D14")
def test_a_server_that_hangs_costs_no_more_than_the_timeout(
    own_redis: RedisServer,  # noqa: F811
) -> None:
    backend = RedisBackend(RedisOptions(own_redis.url, timeout_s=0.1))
    own_redis.process.pause()
    try:
        with pytest.raises(StoreUnreachable):
            asyncio.run(backend.fetch_many(KEYS, deadline=Deadline(None)))
        with pytest.raises(StoreUnreachable):
            backend.get_many(KEYS)
    finally:
        own_redis.process.resume()
        backend.close()


def test_a_server_that_is_not_there_at_the_start_is_named_without_its_password(
    own_redis: RedisServer,  # noqa: F811
) -> None:
    own_redis.stop()
    try:
        with pytest.raises(StoreUnreachable) as away:
            RedisBackend(RedisOptions(f"redis://me:secret@127.0.0.1:{own_redis.port}/0"))
        assert f"127.0.0.1:{own_redis.port}" in str(away.value)
        assert "secret" not in str(away.value)
    finally:
        own_redis.start()


def test_wrong_credentials_are_not_called_an_outage() -> None:
    server = RedisServer(options=("--requirepass", "right"))
    try:
        with pytest.raises(StoreFailed, match="refused these credentials") as refused:
            RedisBackend(RedisOptions(f"redis://:wrong@127.0.0.1:{server.port}"))
        assert not isinstance(refused.value, StoreUnreachable)
        RedisBackend(RedisOptions(f"redis://:right@127.0.0.1:{server.port}")).close()
    finally:
        server.end()


@pytest.mark.parametrize("url", ["", "localhost:6379", "http://localhost", "redis://host:port"])
def test_what_is_no_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput, match=r"redis\.url"):
        RedisBackend(RedisOptions(url))


def test_redis_forgets_a_row_long_after_it_has_expired(
    backend: RedisBackend,
    own_redis: RedisServer,  # noqa: F811
) -> None:
    import redis

    from inferflow.featurestore import FeatureStore, parse_schema

    groups = {
        "short": {"ttl": "10s", "features": {"a": "FP32"}},
        "ever": {"features": {"b": "FP32"}},
    }
    schema = parse_schema({"entities": {"item": {"keys": ["id"], "groups": groups}}})
    store = FeatureStore(schema, backend, now=lambda: 1e9)
    store.put("item", None, [{"id": "x", "a": 1, "b": 2}])
    with redis.Redis(port=own_redis.port) as client:
        lives = sorted(client.pttl(name) for name in client.scan_iter("inferflow:{x}*"))
    assert lives[0] == -1
    assert 3_600_000 < lives[1] <= 3_610_000
