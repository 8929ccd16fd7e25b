"""A real `inferflow gateway`, and hands to ask it and to end it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass

import httpx

from .serving_process import MAIN


@dataclass
class GatewayProcess:
    popen: subprocess.Popen[str]
    url: str
    http: httpx.Client

    @property
    def address(self) -> tuple[str, int]:
        found = httpx.URL(self.url)
        return found.host, found.port or 0

    def end(self, *signals: signal.Signals) -> int:
        for each in signals or (signal.SIGTERM,):
            self.popen.send_signal(each)
        code = self.popen.wait(30)
        self.close()
        return code

    def close(self) -> None:
        self.http.close()
        self.popen.kill()
        self.popen.wait()
        for stream in (self.popen.stdout, self.popen.stderr):
            if stream is not None:
                stream.close()


def start_gateway(*arguments: str, **environment: str) -> GatewayProcess:
    popen = subprocess.Popen(
        [sys.executable, "-c", MAIN, "gateway", "--port", "0", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "INFERFLOW_GATEWAY_DRAIN_PAUSE": "0ms", **environment},
    )
    assert popen.stdout is not None
    lines = [popen.stdout.readline() for _ in range(3)]
    found = re.fullmatch(r"HTTP  (http://\S+)\nasks  \S+\nready\n", "".join(lines))
    if found is None:
        popen.kill()
        raise AssertionError((lines, popen.communicate()))
    return GatewayProcess(popen, found[1], httpx.Client(base_url=found[1], timeout=30))
