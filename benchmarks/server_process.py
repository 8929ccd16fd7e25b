"""Server processes under measurement: started, found, their processor time read, ended."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import psutil

_INFERFLOW = "import sys; from inferflow.cli import main; sys.argv[0] = 'inferflow'; main()"


class Server:
    def __init__(self, process: subprocess.Popen[str], target: str) -> None:
        self.target = target
        self._process = psutil.Process(process.pid)

    def cpu_s(self) -> float:
        """Processor time so far, of the process and its children."""
        together = [self._process, *self._process.children(recursive=True)]
        times = [process.cpu_times() for process in together]
        return float(sum(each.user + each.system for each in times))


@contextmanager
def started(command: Sequence[str]) -> Iterator[Server]:
    """A server that says `gRPC  host:port` on its stdout."""
    process = subprocess.Popen(
        [sys.executable, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "INFERFLOW_DRAIN_PAUSE": "0ms"},
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            found = re.match(r"gRPC  (\S+)", line)
            if found is not None:
                yield Server(process, found[1])
                break
        else:
            raise SystemExit(f"{' '.join(command)}: ended with {process.wait()}")
    finally:
        process.terminate()
        process.communicate()


def inferflow_serve(project: Path, *options: str) -> list[str]:
    command = ["-c", _INFERFLOW, "serve", str(project), "--port", "0", "--http-port", "0"]
    return [*command, *options]


def no_op(sizes: Sequence[int]) -> list[str]:
    return [str(Path(__file__).with_name("noop.py")), *map(str, sizes)]
