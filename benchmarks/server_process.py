"""Server processes under measurement: started, found, their processor time read, ended."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import psutil

_INFERFLOW = "import sys; from inferflow.cli import main; sys.argv[0] = 'inferflow'; main()"

_QUIET = {
    "INFERFLOW_DRAIN_PAUSE": "0ms",
    "INFERFLOW_WORKER_DRAIN_PAUSE": "0ms",
    "INFERFLOW_GATEWAY_DRAIN_PAUSE": "0ms",
    "ORT_DISABLE_TELEMETRY": "1",  # for every server alike
}


def two_cores() -> tuple[int | None, int | None]:
    """One for a server and one for the load generator, where processes can be kept apart.

    Left to the system, the two often meet on one core, and a run says more about that than about
    the server.
    """
    free = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    return (free[-1], free[0]) if len(free) > 1 else (None, None)


def stay_on(core: int | None) -> None:
    if core is not None:
        os.sched_setaffinity(0, {core})


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
def started(
    command: Sequence[str],
    *,
    python: str = sys.executable,
    environment: Mapping[str, str] | None = None,
    core: int | None = None,
) -> Iterator[Server]:
    """A server that says `gRPC  host:port` on its stdout, or `HTTP  http://host:port` when it has
    no gRPC; on that core alone, if one is named."""
    process = subprocess.Popen(
        [python, *command],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, **_QUIET, **(environment or {})},
        # Ahead of the program: threads it starts are to be on that core as well.
        preexec_fn=None if core is None else partial(stay_on, core),  # noqa: PLW1509
    )
    try:
        assert process.stdout is not None
        for line in process.stdout:
            found = re.match(r"(?:gRPC  |HTTP  http://)(\S+)", line)
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


def inferflow_service(role: str, project: Path) -> list[str]:
    """`feature-store`, `numerix` or `worker` over a project's folder."""
    return ["-c", _INFERFLOW, role, str(project), "--port", "0", "--http-port", "0"]


def inferflow_worker(models: Path, *, prefetch: Sequence[str]) -> list[str]:
    command = ["-c", _INFERFLOW, "worker", "--models", str(models), "--port", "0"]
    loaded = [word for name in prefetch for word in ("--prefetch", name)]
    return [*command, "--http-port", "0", *loaded]


def inferflow_gateway(target: str) -> list[str]:
    return ["-c", _INFERFLOW, "gateway", "--port", "0", "--target", target]


def no_op(sizes: Sequence[int]) -> list[str]:
    return [str(Path(__file__).with_name("noop.py")), *map(str, sizes)]
