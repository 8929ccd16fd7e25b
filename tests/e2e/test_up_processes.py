"""`inferflow up` with several processes: one gateway, in their parent, before all of them."""

from __future__ import annotations

import json
from pathlib import Path

import httpx
from websockets.sync.client import connect

from inferflow.app.scaffold import write_starter

from .gateway_process import GatewayProcess
from .role_process import heard, launch

PORTS = ("--port", "0", "--http-port", "0", "--gateway-port", "0")
BOOKS = {"user": "ada", "book": ["1", "2", "3"]}


def is_seen_live(url: str, config: str) -> bool:
    """Whether requests for a config show in the numbers of every second."""
    with connect(f"{url.replace('http', 'ws')}/api/v1/live") as live:
        return any(config in json.loads(live.recv(30)).get("configs", ()) for _ in range(20))


def test_a_gateway_stands_before_all_processes_and_ends_with_them(tmp_path: Path) -> None:
    write_starter(tmp_path)
    now = {"INFERFLOW_DRAIN_PAUSE": "0ms", "INFERFLOW_GATEWAY_DRAIN_PAUSE": "0ms"}
    popen = launch("up", str(tmp_path), *PORTS, "--processes", "2", **now)
    found = heard(popen, r"gateway  (http://\S+)\ngRPC  \S+\nHTTP  \S+ and /metrics\n")
    with httpx.Client(base_url=found[1], timeout=30) as http:
        up = GatewayProcess(popen, found[1], http)
        try:
            scored = http.post("/v1/score/ranker?explain=true", json={"entities": BOOKS}).json()
            assert len(scored["targets"]) == 3
            kept = http.get(f"/api/v1/recordings/{scored['recording']}")
            assert kept.json()["run"]["targets"] == 3
            body = {"request": {"entities": BOOKS}}
            played = http.post("/api/v1/playground/ranker", json=body).json()
            assert played["answer"]["targets"] == scored["targets"]
            (config,) = http.get("/api/v1/configs").json()["configs"]
            assert config["state"] == "serving"
            assert is_seen_live(found[1], "ranker")
        finally:
            code = up.end()
    assert code == 0
