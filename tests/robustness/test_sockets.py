"""A gateway under sockets that say too much, and under very many that say nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psutil
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from inferflow.app.scaffold import write_starter

from ..e2e import serving_process
from ..e2e.gateway_process import GatewayProcess, start_gateway
from .load import BOOKS
from .scenario import StartScenario

MIB = 1024 * 1024
HUGE = 100 * MIB
SOCKETS = 300


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[GatewayProcess]:
    write_starter(tmp_path / "books")
    server = serving_process.start(tmp_path / "books")
    made = start_gateway("--target", f"127.0.0.1:{server.port}")
    yield made
    made.close()
    server.close()


def answers(gateway: GatewayProcess) -> bool:
    found = gateway.http.post("/v1/score/ranker", json={"entities": BOOKS})
    return found.status_code == 200 and len(found.json()["targets"]) == 3


def memory_mib(gateway: GatewayProcess) -> float:
    rss: int = psutil.Process(gateway.popen.pid).memory_info().rss
    return rss / MIB


def code_for(url: str, message: str) -> int | None:
    """How a socket is closed that sends this."""
    with connect(url) as socket:
        try:
            socket.send(message)
            socket.recv(30)
        except ConnectionClosed as closed:
            return int(closed.rcvd.code) if closed.rcvd else 1006
    return None


def test_sockets_that_say_too_much_are_closed_and_silent_ones_harm_nobody(
    gateway: GatewayProcess, scenario: StartScenario
) -> None:
    tried = scenario("F9", f"{HUGE // MIB} MiB over a socket, and {SOCKETS} sockets")
    url = f"{gateway.url.replace('http', 'ws')}/v1/stream/ranker"
    assert answers(gateway)
    before = memory_mib(gateway)
    codes = [code_for(url, "x" * size) for size in (17 * MIB, HUGE)]
    tried.holds("each such socket is closed, with code", codes, None not in codes)
    with ExitStack() as held:
        sockets = [held.enter_context(connect(url)) for _ in range(SOCKETS)]
        tried.holds("others are answered", answers(gateway), answers(gateway))
        sockets[-1].send(json.dumps({"entities": BOOKS}))
        told = json.loads(sockets[-1].recv(30))
        tried.at_least("targets in the answer to the last socket", len(told["targets"]), 3)
    tried.at_most("memory gained", memory_mib(gateway) - before, 256, " MiB")
