"""`inferflow serve` with features in a Redis that comes later."""

from __future__ import annotations

import re
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import inferflow
from inferflow.app.scaffold import write_starter

from ..servers.redis import RedisServer, own_redis  # noqa: F401
from .role_process import RoleProcess, launch

BOOKS = ["1", "2", "3"]


def ready(url: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, refused.read().decode()


@pytest.fixture
def waiting(own_redis: RedisServer, tmp_path: Path) -> RoleProcess:  # noqa: F811
    """Started while Redis is away."""
    own_redis.stop()
    write_starter(tmp_path / "starter")
    ports = ("--port", "0", "--http-port", "0")
    backend = {"INFERFLOW_FEATURE_BACKEND": "redis", "REDIS_URL": own_redis.url}
    return RoleProcess(launch("serve", str(tmp_path / "starter"), *ports, **backend))


def heard_until(process: RoleProcess, pattern: str) -> re.Match[str]:
    said = ""
    assert process.popen.stdout is not None
    while (found := re.search(pattern, said)) is None:
        line = process.popen.stdout.readline()
        assert line, said
        said += line
    return found


def test_it_says_what_it_waits_for_and_serves_when_that_is_there(
    waiting: RoleProcess,
    own_redis: RedisServer,  # noqa: F811
) -> None:
    try:
        http = heard_until(waiting, r"HTTP  (http://\S+)\nwaiting: Redis at .* is away")[1]
        status, why = ready(http)
        assert (status, "is away" in why) == (503, True)
        assert ready(http.replace("ready", "live"))[0] == 200
        own_redis.start()
        address = heard_until(waiting, r"gRPC  (\S+)\n[^\n]*\nready")[1]
        with inferflow.connect(address, attempts=1) as client:
            assert client.score("ranker", user="ada", book=BOOKS).targets.errors == ["", "", ""]
        assert waiting.end() == 0
    finally:
        waiting.close()


def test_it_can_be_ended_while_it_waits(
    waiting: RoleProcess,
    own_redis: RedisServer,  # noqa: F811
) -> None:
    try:
        heard_until(waiting, "waiting: ")
        assert waiting.end() == 0
    finally:
        waiting.close()
        own_redis.start()
