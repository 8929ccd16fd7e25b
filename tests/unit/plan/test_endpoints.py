"""Where a model runs, in every way to write it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.plan.catalog import Endpoint, RemotePolicy
from inferflow.plan.endpoints import Refused, is_allowed, read_endpoint

ANY = RemotePolicy()


def read(text: str, policy: RemotePolicy = ANY) -> Endpoint | Refused:
    return read_endpoint(text, "ranker", "3", policy)


@pytest.mark.parametrize(
    ("text", "model", "version", "address"),
    [
        ("", "ranker", "3", None),
        ("local", "ranker", "3", None),
        ("local:other", "other", "3", None),
        ("local:other@7", "other", "7", None),
        ("local:@7", "ranker", "7", None),
        ("predator:8001", "ranker", "3", "predator:8001"),
        ("10.0.0.7:8001", "ranker", "3", "10.0.0.7:8001"),
        ("[::1]:8001", "ranker", "3", "[::1]:8001"),
        ("predator:8001/other", "other", "3", "predator:8001"),
        ("predator:8001/other@7", "other", "7", "predator:8001"),
        ("a:1, b:2,c:3/other", "other", "3", "a:1,b:2,c:3"),
        ("p.models.svc.cluster.local:08001", "ranker", "3", "p.models.svc.cluster.local:8001"),
        ("manager://m:50060", "ranker", "3", "manager://m:50060"),
        ("manager://m1:50060,m2:1/other@staging", "other", "staging", "manager://m1:50060,m2:1"),
    ],
)
def test_an_endpoint_says_where_and_may_say_which_model(
    text: str, model: str, version: str, address: str | None
) -> None:
    assert read(text) == Endpoint(text, model, version, address)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("predator", "'predator' names no port"),
        ("predator:http", "'http' is no port"),
        ("predator:0", "'0' is no port"),
        ("predator:65536", "'65536' is no port"),
        ("predator:8001/", "names no model after its '/'"),
        ("predator:8001/@2", "names no model after its '/'"),
        (":8001", "':8001' is no endpoint"),
        ("a:1,,b:2", "'' is no endpoint"),
        ("http://predator:8001", "is no endpoint"),
        ("unix:///tmp/socket", "is no endpoint"),
        ("manager://", "'' is no endpoint"),
        ("manager://http://m:1", "is no endpoint"),
        ("manager://m", "'m' names no port"),
        ("manager://m:50060/", "names no model after its '/'"),
        ("pre dator:8001", "is no endpoint"),
        ("user@predator:8001", "is no endpoint"),
    ],
)
def test_what_is_no_endpoint_is_refused_with_what_would_be(text: str, what: str) -> None:
    refused = read(text)
    assert isinstance(refused, Refused)
    assert what in refused.what
    assert refused.hint == "write local, local:<model>, host:port, or manager://host:port"


def test_a_host_alone_takes_the_port_that_is_set() -> None:
    policy = RemotePolicy(port=8090)
    assert read("predator", policy) == Endpoint("predator", "ranker", "3", "predator:8090")
    assert read("[::1]", policy) == Endpoint("[::1]", "ranker", "3", "[::1]:8090")
    assert read("predator:1", policy) == Endpoint("predator:1", "ranker", "3", "predator:1")
    assert isinstance(read("manager://m", policy), Refused)


@pytest.mark.parametrize(
    ("address", "allow", "allowed"),
    [
        ("a:1", ("*",), True),
        ("a:1", (), False),
        ("a.models:8001", ("*.models:8001",), True),
        ("A.Models:8001", ("*.models:8001",), True),
        ("a.models:8002", ("*.models:8001",), False),
        ("a.models:8001.evil:80", ("*.models:8001",), False),
        ("10.0.0.7:8001", ("10.0.0.*:8001", "b:1"), True),
        ("b:1", ("10.0.0.*:8001", "b:1"), True),
    ],
)
def test_only_servers_that_a_pattern_covers_may_be_called(
    address: str, allow: tuple[str, ...], allowed: bool
) -> None:
    assert is_allowed(address, RemotePolicy(allow)) is allowed


def test_one_server_of_several_that_is_not_allowed_refuses_them_all() -> None:
    policy = RemotePolicy(("a:*",))
    refused = read("a:1,evil:2", policy)
    assert isinstance(refused, Refused)
    assert refused.what == "'evil:2' is not among the servers this process may call"
    assert refused.hint == "add it to endpoint_allow in inferflow.toml"
    assert isinstance(read("local", RemotePolicy(())), Endpoint)


@given(st.text(max_size=30))
def test_any_text_is_an_endpoint_or_refused(text: str) -> None:
    found = read(text)
    assert isinstance(found, Endpoint | Refused)
