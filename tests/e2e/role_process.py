"""A role of `inferflow` as a real process: how it is started, heard, asked and ended."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from dataclasses import dataclass
from typing import Self

MAIN = "import sys; from inferflow.cli import main; sys.argv[0] = 'inferflow'; main()"


def launch(role: str, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    """Without waiting for anything. A pause before it ends would only cost time here."""
    pause = {"serve": "", "numerix": "COMPUTE_"}.get(role, role.upper().replace("-", "_") + "_")
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, role, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, f"INFERFLOW_{pause}DRAIN_PAUSE": "0ms", **environment},
    )


def heard(popen: subprocess.Popen[str], pattern: str) -> re.Match[str]:
    """The first three lines, which must look like this."""
    assert popen.stdout is not None
    lines = [popen.stdout.readline() for _ in range(3)]
    found = re.fullmatch(pattern, "".join(lines))
    if found is None:
        popen.kill()
        raise AssertionError((lines, popen.communicate()))
    return found


@dataclass
class RoleProcess:
    popen: subprocess.Popen[str]

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


@dataclass
class Process(RoleProcess):
    """One that listens for gRPC and has health and metrics over HTTP."""

    port: int
    http: str

    @classmethod
    def ready(cls, popen: subprocess.Popen[str], ready: str = "ready.*") -> Self:
        """Once it has said where it listens. `ready` is what its third line looks like."""
        found = heard(popen, rf"gRPC  127\.0\.0\.1:(\d+)\nHTTP  (http://[^/]+)/.*\n{ready}\n")
        return cls(popen, int(found[1]), found[2])

    def get(self, path: str) -> tuple[int, bytes]:
        try:
            with urllib.request.urlopen(self.http + path, timeout=10) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            with refused:
                return refused.code, refused.read()
