"""The services a served project may depend on, each of them started, hurt and ended the same way.

The project is the starter. A serving process reaches the service through a proxy, so that it can
be made slow without touching it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inferflow.app.scaffold import write_starter

from ..e2e import feature_store_process, numerix_process, serving_process, worker_process
from ..e2e.fault_proxy import FaultProxy
from ..e2e.serving_process import Process
from ..servers.processes import free_port

STEP_DEADLINE_MS = 300


@dataclass(frozen=True)
class Kind:
    """A service, and how a project is told of it."""

    name: str
    start: Callable[..., Process]
    """With a folder, a port, and an environment."""
    settings: Callable[[str], dict[str, str]]
    """The environment of a server that reaches it at an address."""


def _start_worker(folder: Path, **more: Any) -> Process:
    worker = worker_process.start(folder, **more)
    worker.channel.close()
    return Process(worker.popen, worker.port, worker.http)


FEATURES = Kind(
    "feature store",
    feature_store_process.start,
    lambda address: {
        "externalServiceOnFs_host": address,
        "externalServiceOnFs_deadline": f"{STEP_DEADLINE_MS}ms",
    },
)
COMPUTE = Kind(
    "compute service",
    numerix_process.start,
    lambda address: {
        "numerixClientV1_host": address,
        "numerixClientV1_deadline": f"{STEP_DEADLINE_MS}ms",
    },
)
WORKER = Kind(
    "worker",
    _start_worker,
    lambda _: {"EXTERNAL_SERVICE_PREDATOR_DEADLINE": str(STEP_DEADLINE_MS)},
)
KINDS = (FEATURES, COMPUTE, WORKER)


class Dependency:
    """One service of a kind, and a server that depends on it. `close` ends both."""

    def __init__(self, kind: Kind, home: Path) -> None:
        self.kind = kind
        self.port = 0
        """Where the server answers, once there is one."""
        self._port = free_port()
        self._proxy = FaultProxy(self._port, lambda _: "pass")
        self._proxy.__enter__()
        self._far, self._near = home / "far", home / "near"
        write_starter(self._far)
        write_starter(self._near)
        address = f"127.0.0.1:{self._proxy.port}"
        if kind is WORKER:
            (self._near / "inferflow.toml").write_text(f'[endpoints]\n"" = "{address}"\n')
        self._settings = kind.settings(address)
        self._service: Process | None = None
        self._serving: Process | None = None

    def start(self, **environment: str) -> None:
        self._service = self.kind.start(self._far, port=self._port, **environment)

    def serve(self, **more: str) -> Process:
        environment = {**self._settings, **more}
        assert not any(name in os.environ for name in environment)
        self._serving = serving_process.start(self._near, **environment)
        self.port = self._serving.port
        return self._serving

    def kill(self) -> None:
        assert self._service is not None
        self._service.end(signal.SIGKILL)
        self._service = None

    def hang(self) -> None:
        assert self._service is not None
        self._service.popen.send_signal(signal.SIGSTOP)

    def wake(self) -> None:
        assert self._service is not None
        self._service.popen.send_signal(signal.SIGCONT)

    def slow_down(self, seconds: float) -> None:
        """Let every answer take so much longer; 0 ends it."""
        self._proxy.delay_s = seconds

    def reset(self) -> None:
        """Break every connection to it."""
        self._proxy.reset()

    def close(self) -> None:
        if self._serving is not None:
            self._serving.close()
        if self._service is not None:
            self.wake()
            self._service.close()
        self._proxy.__exit__(None, None, None)
