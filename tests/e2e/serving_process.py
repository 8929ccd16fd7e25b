"""A running `inferflow serve`, and hands to ask it and to end it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path

MAIN = "import sys; from inferflow.cli import main; sys.argv[0] = 'inferflow'; main()"


@dataclass
class Process:
    """A running `inferflow serve`."""

    popen: subprocess.Popen[str]
    port: int
    http: str

    def get(self, path: str) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(self.http + path, timeout=10) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read()

    def end(self, *signals: signal.Signals) -> int:
        for each in signals or (signal.SIGTERM,):
            self.popen.send_signal(each)
        code = self.popen.wait(30)
        self.close()
        return code

    def close(self) -> None:
        self.popen.kill()
        self.popen.wait()
        for stream in (self.popen.stdout, self.popen.stderr):
            if stream is not None:
                stream.close()


def launch(folder: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, "serve", str(folder), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "INFERFLOW_DRAIN_PAUSE": "0ms", **environment},
    )


def start(folder: Path, *arguments: str, **environment: str) -> Process:
    popen = launch(folder, "--port", "0", "--http-port", "0", *arguments, **environment)
    assert popen.stdout is not None
    lines = [popen.stdout.readline() for _ in range(3)]
    found = re.fullmatch(
        r"gRPC  127\.0\.0\.1:(\d+)\nHTTP  (http://[^/]+)/.*\nready.*\n", "".join(lines)
    )
    if found is None:
        popen.kill()
        raise AssertionError((lines, popen.communicate()))
    return Process(popen, int(found[1]), found[2])
