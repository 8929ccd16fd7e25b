"""What does JSON over HTTP cost beside the same request over gRPC?

R100 is asked in turns: of a real server over gRPC, and of a real gateway before it in JSON. The
gateway's own processor time per request, read from the operating system, is what the JSON path
takes beyond the gRPC path; latencies are of one caller that waits for each answer.

    python benchmarks/gateway.py [--rows N] [--calls N] [--turns N]
"""

from __future__ import annotations

import argparse
import http.client
import statistics
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import orjson
from server_process import Server, inferflow_gateway, inferflow_serve, started
from workload import load_data, request, write_project

import inferflow

DISTINCT = 20
"""Different requests taken in turn."""


@dataclass(frozen=True)
class Turn:
    p50_us: float
    server_us: float
    """Processor time per request of the server that scores."""
    gateway_us: float


def measured(calls: int, ask: object, server: Server, gateway: Server) -> Turn:
    assert callable(ask)
    server_before, gateway_before = server.cpu_s(), gateway.cpu_s()
    took = []
    for number in range(calls):
        began = time.perf_counter()
        ask(number % DISTINCT)
        took.append(time.perf_counter() - began)
    return Turn(
        statistics.median(took) * 1e6,
        (server.cpu_s() - server_before) / calls * 1e6,
        (gateway.cpu_s() - gateway_before) / calls * 1e6,
    )


def compare(project: Path, rows: int, calls: int, turns: int) -> dict[str, list[Turn]]:
    rng = np.random.default_rng(rows)
    requests = [request(rows, rng) for _ in range(DISTINCT)]
    bodies = [orjson.dumps(each) for each in requests]
    path = f"/v1/score/{requests[0]['model_config_id']}"
    found: dict[str, list[Turn]] = {"grpc": [], "json": []}
    with (
        started(inferflow_serve(project)) as server,
        started(inferflow_gateway(server.target)) as gateway,
        inferflow.connect(server.target) as client,
    ):
        connection = http.client.HTTPConnection(gateway.target, timeout=30)

        def over_grpc(number: int) -> None:
            client.answer(requests[number])

        def over_http(number: int) -> None:
            connection.request("POST", path, bodies[number])
            answer = connection.getresponse()
            body = answer.read()
            assert answer.status == 200, body

        for ask in (over_grpc, over_http):  # caches fill, code is met for the first time
            measured(calls // 4, ask, server, gateway)
        for _ in range(turns):
            found["grpc"].append(measured(calls, over_grpc, server, gateway))
            found["json"].append(measured(calls, over_http, server, gateway))
        connection.close()
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100)
    parser.add_argument("--calls", type=int, default=500)
    parser.add_argument("--turns", type=int, default=5)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        write_project(project, cached=False)
        with inferflow.open(project) as flow:
            load_data(flow, np.random.default_rng(0))
        found = compare(project, given.rows, given.calls, given.turns)
    print(f"R{given.rows}, median of {given.turns} turns of {given.calls} calls, µs")
    print(f"{'':6}{'p50':>10}{'server cpu':>14}{'gateway cpu':>14}")
    for name, turns in found.items():
        p50, server, gateway = (
            statistics.median(getattr(turn, field) for turn in turns)
            for field in ("p50_us", "server_us", "gateway_us")
        )
        print(f"{name:6}{p50:10.0f}{server:14.0f}{gateway:14.0f}")


if __name__ == "__main__":
    main()
