"""A gateway under sockets that say too much, that say nothing, and that are far too many."""

from __future__ import annotations

import asyncio
import json
import socket
import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from websockets.asyncio.client import connect as connect_async
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from inferflow.app.key_cards import create_key, revoke_key
from inferflow.app.scaffold import write_starter

from ..e2e import serving_process
from ..e2e.gateway_process import GatewayProcess, start_gateway
from .load import BOOKS
from .scenario import StartScenario

MIB = 1024 * 1024
HUGE = 100 * MIB
OPENS, ALLOWED = 10_000, 200
UPGRADED, TOO_MANY = 101, 429
POLICY = 1008
IDLE_S = 2
PATIENCE_S = 30
UPGRADE = (
    b"GET /v1/stream/ranker HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\n"
    b"Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[serving_process.Process]:
    root = tmp_path_factory.mktemp("served") / "books"
    write_starter(root)
    made = serving_process.start(root)
    yield made
    made.close()


@pytest.fixture
def patient(server: serving_process.Process) -> Iterator[GatewayProcess]:
    made = start_gateway("--target", f"127.0.0.1:{server.port}")
    yield made
    made.close()


@pytest.fixture
def gateway(server: serving_process.Process) -> Iterator[GatewayProcess]:
    """One that waits two seconds for a word."""
    target = f"127.0.0.1:{server.port}"
    made = start_gateway("--target", target, INFERFLOW_GATEWAY_SOCKET_IDLE=f"{IDLE_S}s")
    yield made
    made.close()


class Others:
    """Callers over HTTP who have nothing to do with it."""

    def __init__(self, gateway: GatewayProcess) -> None:
        self._http = gateway.http
        self.wrong: list[str] = []
        self.ms: list[float] = []
        self._stop = threading.Event()

    def ask(self) -> None:
        began = time.perf_counter()
        found = self._http.post("/v1/score/ranker", json={"entities": BOOKS})
        self.ms.append((time.perf_counter() - began) * 1000)
        if found.status_code != 200 or len(found.json()["targets"]) != 3:
            self.wrong.append(found.text)

    @contextmanager
    def asking(self) -> Iterator[None]:
        """One after the other, while the block lasts."""

        def ask_on() -> None:
            while not self._stop.is_set():
                self.ask()

        asked = threading.Thread(target=ask_on)
        asked.start()
        try:
            yield
        finally:
            self._stop.set()
            asked.join()


def stream(gateway: GatewayProcess) -> str:
    return f"{gateway.url.replace('http', 'ws')}/v1/stream/ranker"


def memory_mib(gateway: GatewayProcess) -> float:
    rss: int = psutil.Process(gateway.popen.pid).memory_info().rss
    return rss / MIB


async def code_for(url: str, message: str) -> int | None:
    """How a socket is closed that sends this."""
    async with connect_async(url) as talk, asyncio.timeout(PATIENCE_S):
        try:
            await talk.send(message)
            await talk.recv()
        except ConnectionClosed as closed:
            return int(closed.rcvd.code) if closed.rcvd else 1006
    return None


def opened(gateway: GatewayProcess) -> tuple[socket.socket, int]:
    """A peer that asks for a socket, and from then on neither reads, nor writes, nor pongs; and
    the status it was answered with."""
    peer = socket.create_connection(gateway.address, PATIENCE_S)
    peer.sendall(UPGRADE)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += peer.recv(4096)
    return peer, int(answer.split()[1])


def seconds_until_closed(peer: socket.socket) -> float:
    began = time.monotonic()
    while peer.recv(4096):
        pass
    return time.monotonic() - began


def until_left(talk: ClientConnection) -> None:
    """Hear what is said until the other end leaves."""
    with suppress(ConnectionClosed):
        while True:
            talk.recv(PATIENCE_S)


def test_frames_that_are_too_large_are_named_and_silent_peers_are_left(
    gateway: GatewayProcess, scenario: StartScenario
) -> None:
    tried = scenario("F9", f"{HUGE // MIB} MiB over a socket; a peer that never answers")
    others = Others(gateway)
    others.ask()
    before = memory_mib(gateway)
    with others.asking():
        url = stream(gateway)
        codes = [asyncio.run(code_for(url, "x" * size)) for size in (17 * MIB, HUGE)]
        peer, _ = opened(gateway)
        with peer:
            silent_s = seconds_until_closed(peer)
    tried.holds("such frames are closed with 1009", codes, set(codes) == {1009})
    tried.within(f"silence for {IDLE_S} s allowed; closed after", silent_s, IDLE_S + 3)
    tried.none("wrong answers to others", others.wrong)
    tried.at_most("memory gained", memory_mib(gateway) - before, 256, " MiB")


def test_ten_thousand_opens_take_no_more_places_than_a_caller_has(
    patient: GatewayProcess, scenario: StartScenario
) -> None:
    tried = scenario("F9", f"{OPENS} sockets asked for, {ALLOWED} allowed to one caller")
    others = Others(patient)
    others.ask()
    before = memory_mib(patient)
    with ExitStack() as held, others.asking():
        first = held.enter_context(connect(stream(patient)))
        outcomes: Counter[int] = Counter()
        for _ in range(OPENS - 1):
            peer, status = opened(patient)
            outcomes[status] += 1
            if status == UPGRADED:
                held.enter_context(peer)
            else:
                peer.close()
        first.send(json.dumps({"entities": BOOKS}))
        told = json.loads(first.recv(PATIENCE_S))
        gained = memory_mib(patient) - before
    found = f"{outcomes[UPGRADED] + 1} open, {outcomes[TOO_MANY]} answered 429"
    is_right = outcomes == {UPGRADED: ALLOWED - 1, TOO_MANY: OPENS - ALLOWED}
    tried.holds("the surplus is refused before it is a socket", found, is_right)
    tried.at_least("targets in the answer to the first socket", len(told["targets"]), 3)
    tried.none(f"wrong answers among {len(others.ms)} to others", others.wrong)
    slow = statistics.quantiles(others.ms, n=100)[-1]
    tried.within("p99 of others meanwhile", slow / 1000, 0.25)
    tried.at_most("memory gained", gained, 64, " MiB")
    with connect(stream(patient)) as after:
        after.send(json.dumps({"entities": BOOKS}))
        tried.at_least("targets for who comes after", len(json.loads(after.recv())["targets"]), 3)


def test_a_revoked_key_ends_its_sockets_whether_or_not_they_say_anything(
    tmp_path: Path, server: serving_process.Process, scenario: StartScenario
) -> None:
    tried = scenario("G6", "a key is revoked while it has sockets open")
    keys_file = tmp_path / "keys.json"
    key = create_key(keys_file, "page", ["inference", "view"])["secret"]
    shown = {"authorization": f"Bearer {key}"}
    target = f"127.0.0.1:{server.port}"
    gateway = start_gateway("--target", target, INFERFLOW_KEYS_FILE=str(keys_file))
    url = gateway.url.replace("http", "ws")
    try:
        with (
            connect(f"{url}/v1/stream/ranker", additional_headers=shown) as talking,
            connect(f"{url}/api/v1/live", additional_headers=shown) as live,
        ):
            live.recv(PATIENCE_S)
            revoke_key(keys_file, key.split("_")[1])
            began = time.monotonic()
            for what, talk in (("a silent stream", talking), ("live numbers", live)):
                until_left(talk)
                tried.within(f"{what} ended after", time.monotonic() - began, 2.5)
                tried.holds(f"{what} ended with 1008", talk.close_code, talk.close_code == POLICY)
    finally:
        gateway.close()
