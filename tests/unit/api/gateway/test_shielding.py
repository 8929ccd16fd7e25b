"""How large, how slow and how foreign a request may be."""

from __future__ import annotations

import asyncio
import gzip
import zlib
from typing import Any

import pytest

from inferflow.access.gate import OpenGate
from inferflow.api.gateway.app import make_app
from inferflow.api.gateway.ports import Bounds, Ports

from ....robustness.scenario import StartScenario
from .behind import KnownScoring, asking, keys

REQUEST = b'{"entities": {"user": "7", "product": ["1"]}}'
SCORE = "/v1/score/ranker"


def test_a_body_that_is_too_large_is_refused_by_its_length() -> None:
    with asking(scoring=KnownScoring(), bounds=Bounds(body_bytes=100)) as client:
        refused = client.post(SCORE, content=b" " * 101)
        assert client.post(SCORE, content=REQUEST).status_code == 200
    assert (refused.status_code, refused.json()["field"]) == (413, "body")


def test_a_body_that_does_not_tell_its_length_is_counted_as_it_comes(
    scenario: StartScenario,
) -> None:
    tried = scenario("F8", "a chunked body of more than the limit")
    with asking(scoring=KnownScoring(), bounds=Bounds(body_bytes=100)) as client:
        refused = client.post(SCORE, content=iter([b" " * 60, b" " * 60]))
    tried.holds("refused", refused.status_code, refused.status_code == 413)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("gzip", gzip.compress(REQUEST, mtime=0)),
        ("deflate", zlib.compress(REQUEST)),
        ("identity", REQUEST),
    ],
    ids=["gzip", "deflate", "identity"],
)
def test_a_compressed_body_is_inflated(encoding: str, body: bytes) -> None:
    with asking(scoring=KnownScoring()) as client:
        answer = client.post(SCORE, content=body, headers={"content-encoding": encoding})
    assert answer.status_code == 200


def test_a_body_that_inflates_to_too_much_is_refused(scenario: StartScenario) -> None:
    tried = scenario("F8", "a thousand bytes that inflate to a million")
    bomb = gzip.compress(b" " * 1_000_000)
    with asking(scoring=KnownScoring(), bounds=Bounds(body_bytes=10_000)) as client:
        refused = client.post(SCORE, content=bomb, headers={"content-encoding": "gzip"})
    assert len(bomb) < 10_000
    tried.holds("refused", refused.status_code, refused.status_code == 413)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [("gzip", REQUEST), ("br", REQUEST), ("gzip", gzip.compress(REQUEST, mtime=0)[:-9])],
    ids=["plain", "unknown", "cut off"],
)
def test_a_body_that_is_not_what_it_says_is_refused(encoding: str, body: bytes) -> None:
    with asking(scoring=KnownScoring()) as client:
        refused = client.post(SCORE, content=body, headers={"content-encoding": encoding})
    assert (refused.status_code, refused.json()["field"]) == (400, "content-encoding")


def test_a_body_that_does_not_come_is_not_waited_for() -> None:
    app = make_app(Ports(OpenGate(), scoring=KnownScoring(), bounds=Bounds(body_ms=1)))
    scope = {
        "type": "http",
        "method": "POST",
        "path": SCORE,
        "raw_path": SCORE.encode(),
        "query_string": b"",
        "headers": [],
        "client": ("127.0.0.1", 1),
        "server": ("127.0.0.1", 8080),
        "scheme": "http",
        "http_version": "1.1",
    }
    told: list[Any] = []

    async def never() -> Any:
        await asyncio.Event().wait()

    async def keep(message: Any) -> None:
        told.append(message)

    asyncio.run(app(scope, never, keep))
    assert told[0]["status"] == 408


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "127.0.0.1:8080"}, 200),
        ({"host": "localhost:8080"}, 200),
        ({"host": "[::1]:8080"}, 200),
        ({"host": "evil.example"}, 403),
        ({"host": "127.0.0.1.evil.example:8080"}, 403),
        ({"host": "127.0.0.1:8080", "origin": "http://127.0.0.1:8080"}, 200),
        ({"host": "127.0.0.1:8080", "origin": "https://evil.example"}, 403),
        ({"host": "127.0.0.1:8080", "origin": "null"}, 403),
        ({"host": "127.0.0.1:8080", "origin": "http://[::1"}, 403),
    ],
)
def test_without_keys_only_pages_of_this_gateway_may_call(
    headers: dict[str, str], status: int, scenario: StartScenario
) -> None:
    tried = scenario("G11", "pages of this and of other hosts")
    with asking() as client:
        code = client.get("/api/v1/me", headers=headers).status_code
    tried.holds("ours are answered, others refused", code, code == status)


def test_a_gateway_that_others_reach_may_have_any_name_but_is_called_by_its_own_pages() -> None:
    with asking(bounds=Bounds(is_loopback=False)) as client:
        named = {"host": "flow.example"}
        assert client.get("/api/v1/me", headers=named).status_code == 200
        foreign = client.get("/api/v1/me", headers={**named, "origin": "https://evil.example"})
    assert foreign.status_code == 403


def test_with_keys_it_may_have_any_name() -> None:
    who = keys(shop="inference")
    with asking(gate=who.gate) as client:
        answer = client.get("/api/v1/me", headers={**who["shop"], "host": "flow.example"})
    assert answer.status_code == 200


@pytest.mark.scenario("G11")
def test_pages_of_other_hosts_may_call_when_a_setting_names_them() -> None:
    shop = "https://shop.example"
    with asking(bounds=Bounds(origins=(shop,))) as client:
        asked = {"origin": shop, "access-control-request-method": "POST"}
        before = client.options(SCORE, headers=asked)
        answer = client.get("/api/v1/me", headers={"origin": shop})
    assert before.headers["access-control-allow-origin"] == shop
    assert answer.headers["access-control-allow-origin"] == shop
    with asking() as client:
        assert "access-control-allow-origin" not in client.get("/api/v1/me").headers


@pytest.mark.parametrize(("given", "kept"), [("mine-1", True), ("a b", False), ("x" * 200, False)])
def test_an_answer_has_the_requests_id_or_one_of_ours(given: str, kept: bool) -> None:
    with asking() as client:
        told = client.get("/health/live", headers={"x-request-id": given}).headers
    assert told["x-request-id"]
    assert (told["x-request-id"] == given) is kept


@pytest.mark.parametrize(
    ("verb", "path", "status"),
    [
        ("GET", "/v1/score/r", 405),
        ("DELETE", "/v2/models/m/infer", 405),
        ("GET", "/v2/nothing", 404),
        ("GET", "/api/v1/nothing", 404),
        ("POST", "/anything", 404),
        ("POST", "/v2/models/m/generate", 501),
        ("GET", "/v2/systemsharedmemory/status", 501),
    ],
)
def test_what_is_not_there_is_said_in_the_form_of_its_neighbours(
    verb: str, path: str, status: int
) -> None:
    with asking() as client:
        refused = client.request(verb, path)
    assert refused.status_code == status
    told = refused.json()
    assert (set(told) == {"error"}) if path.startswith("/v2") else told["status"] == status
