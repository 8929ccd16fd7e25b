"""The Python client over a network that misbehaves: it retries in its deadline, and says where."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

import inferflow
from inferflow.demo import write_shop
from inferflow.errors import DeadlinePassed, InvalidRequest, Unreachable

from ..robustness.scenario import StartScenario
from .fault_proxy import Fault, FaultProxy
from .test_serve import Process, start

LATE_S = 0.01
"""How much later than its deadline a call may end."""
REQUEST: dict[str, Any] = {"user": "7", "product": ["1", "2"], "context": {"hour": 20}}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Process]:
    folder = tmp_path_factory.mktemp("served") / "shop"
    write_shop(folder)
    process = start(folder)
    yield process
    process.close()


@pytest.fixture
def dead() -> Iterator[str]:
    """An address that is taken, and where nobody answers."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"127.0.0.1:{taken.getsockname()[1]}"


def broken_at_first(times: int, how: str) -> Fault:
    return lambda connection: how if connection < times else "pass"


@pytest.mark.scenario("B4")
@pytest.mark.parametrize("how", ["refuse", "cut"])
def test_a_call_outlives_connections_that_break(server: Process, how: str) -> None:
    with (
        FaultProxy(server.port, broken_at_first(2, how)) as proxy,
        inferflow.connect(f"127.0.0.1:{proxy.port}", attempts=100, deadline_ms=60_000) as client,
    ):
        assert len(client.score("ranker", **REQUEST)) == 2
        assert proxy.connections == 3


def test_a_call_is_not_repeated_past_its_deadline(server: Process) -> None:
    with (
        FaultProxy(server.port, lambda _: "refuse") as proxy,
        inferflow.connect(f"127.0.0.1:{proxy.port}", attempts=10**6) as client,
        pytest.raises((Unreachable, DeadlinePassed), match=f"127.0.0.1:{proxy.port}"),
    ):
        client.score("ranker", **REQUEST, deadline_ms=300)


def test_a_server_that_never_speaks_costs_no_more_than_the_deadline(
    server: Process, scenario: StartScenario
) -> None:
    tried = scenario("B5", "a peer takes connections and never speaks")
    with (
        FaultProxy(server.port, lambda _: "hang") as proxy,
        inferflow.connect(f"127.0.0.1:{proxy.port}") as client,
        tried.timed("a call with 300 ms ends", 0.3 + LATE_S),
        pytest.raises((Unreachable, DeadlinePassed), match=f"127.0.0.1:{proxy.port}"),
    ):
        client.score("ranker", **REQUEST, deadline_ms=300)


def test_a_listener_that_never_accepts_costs_no_more_than_the_deadline(
    scenario: StartScenario,
) -> None:
    tried = scenario("B5", "a listener never accepts")
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(1)
        address = f"127.0.0.1:{listening.getsockname()[1]}"
        with (
            inferflow.connect(address) as client,
            tried.timed("a call with 300 ms ends", 0.3 + LATE_S),
            pytest.raises((Unreachable, DeadlinePassed), match=address),
        ):
            client.score("ranker", **REQUEST, deadline_ms=300)


def test_of_several_addresses_one_may_be_dead_from_the_start(
    server: Process, dead: str, scenario: StartScenario
) -> None:
    tried = scenario("B6", "one of two addresses is dead from the start")
    with inferflow.connect([dead, f"127.0.0.1:{server.port}"]) as client:
        answered = [len(client.score("ranker", **REQUEST)) == 2 for _ in range(20)]
    tried.holds("every call is answered", f"{sum(answered)} of 20", all(answered))


def test_an_address_where_nobody_is_is_named(dead: str, scenario: StartScenario) -> None:
    tried = scenario("B6", "nobody is at the only address")
    with (
        inferflow.connect(dead, attempts=2) as client,
        tried.timed("the address is named", 0.05),
        pytest.raises(Unreachable, match=f"no server answered at {dead}, tried 2 times"),
    ):
        client.score("ranker", **REQUEST)


def test_a_misspelt_entity_is_noticed_by_the_server(server: Process) -> None:
    with (
        inferflow.connect(f"127.0.0.1:{server.port}") as client,
        pytest.raises(InvalidRequest, match=r"entities.produt: .*closest: 'product'"),
    ):
        client.score("ranker", user="7", produt=["1", "2"], context={"hour": 20})
