"""Real managers and workers of a fleet, and hands to ask them."""

from __future__ import annotations

import hashlib
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc
import numpy as np

from inferflow.client.manager.admin import FleetAdmin
from inferflow.client.manager.calls import ManagerCalls, declared
from inferflow.rpc.tls_channel import ChannelTls

from .role_process import MAIN
from .worker_process import INFER, Response, asking

QUICK = {
    "INFERFLOW_WORKER_DRAIN_PAUSE": "0ms",
    "INFERFLOW_MANAGER_DRAIN_PAUSE": "0ms",
    "INFERFLOW_MANAGER_HEARTBEAT": "300ms",
    "INFERFLOW_MANAGER_SUSPECT_AFTER": "2s",
    "INFERFLOW_MANAGER_OFFLINE_AFTER": "5s",
}
ADMIN_KEY = "ifk_00000000ad01_" + "A" * 43


def until(holds: Callable[[], Any], within_s: float = 30) -> Any:
    """What is true in the end. Real processes take their time."""
    end = time.monotonic() + within_s
    while not (found := holds()):
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.02)
    return found


@dataclass
class Role:
    """One process, and what it said when it was ready."""

    popen: subprocess.Popen[str]
    said: str

    @property
    def port(self) -> int:
        return int(re.search(r"gRPC  \S+:(\d+)\n", self.said)[1])  # type: ignore[index]

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self.port}"

    def get(self, path: str) -> str:
        http = re.search(r"http://[^/]+", self.said)[0]  # type: ignore[index]
        with urllib.request.urlopen(http + path, timeout=10) as answer:
            text: str = answer.read().decode()
            return text

    def end(self) -> int:
        self.popen.terminate()
        return self.gone()

    def kill(self) -> None:
        self.popen.kill()
        self.gone()

    def gone(self) -> int:
        code = self.popen.wait(60)
        for stream in (self.popen.stdout, self.popen.stderr):
            if stream is not None:
                stream.close()
        return code


def start(role: str, folder: Path, *arguments: str, **environment: str) -> Role:
    folder.mkdir(exist_ok=True)
    with open(folder / f"{role}.log", "a") as log:
        popen = subprocess.Popen(
            [sys.executable, "-c", MAIN, role, str(folder), *arguments],
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
            env={**os.environ, **QUICK, **environment},
        )
    said = ""
    assert popen.stdout is not None
    while "\nready" not in said:
        line = popen.stdout.readline()
        if not line:
            popen.wait(10)
            popen.stdout.close()
            raise AssertionError(said + (folder / f"{role}.log").read_text())
        said += line
    return Role(popen, said)


@dataclass
class FleetRun:
    """A fleet in one folder. Everything it started it ends."""

    folder: Path
    environment: dict[str, str] = field(default_factory=dict)
    roles: list[Role] = field(default_factory=list)
    managers: list[str] = field(default_factory=list)
    worker_key: str = ""
    caller_key: str = ""
    tls: ChannelTls | None = None
    """How its managers are asked, where they want it in private."""

    def add_manager(self, *, port: int = 0, **environment: str) -> Role:
        manager = start(
            "manager",
            self.folder / "manager",
            *("--port", str(port), "--http-port", "0"),
            **{"INFERFLOW_ADMIN_KEY": ADMIN_KEY, **self.environment, **environment},
        )
        self.roles.append(manager)
        if manager.address not in self.managers:
            self.managers.append(manager.address)
        if not self.worker_key:
            self.worker_key = self.key("workers", "worker")
            self.caller_key = self.key("callers", "inference")
        return manager

    def add_worker(self, name: str = "w1", *arguments: str, **environment: str) -> Role:
        worker = start(
            "worker",
            self.folder / name,
            *("--port", "0", "--http-port", "0", "--manager", ",".join(self.managers)),
            *("--key", self.worker_key, *arguments),
            INFERFLOW_WORKER_ID=name,
            **environment,
        )
        self.roles.append(worker)
        return worker

    @contextmanager
    def admin(self, key: str = ADMIN_KEY) -> Iterator[FleetAdmin]:
        with FleetAdmin(self.managers, key, tls=self.tls) as admin:
            yield admin

    def key(self, name: str, *permissions: str, **facts: Any) -> str:
        with self.admin() as admin:
            secret: str = admin.create_key(name, permissions, **facts)["secret"]
            return secret

    def publish(
        self, model: str, content: bytes, *, stage: str = "production", **facts: Any
    ) -> str:
        """A version of a model; its number."""
        file = self.folder / f"{hashlib.sha256(content).hexdigest()[:12]}.onnx"
        file.write_bytes(content)
        with self.admin() as admin:
            made = admin.upload(model, {"model.onnx": file}, stage=stage, **facts)
        number: str = made["version"]
        return number

    def discover(self, model: str, key: str = "", **fields: Any) -> Any:
        calls = ManagerCalls(self.managers, key or self.caller_key)
        try:
            request = declared("DiscoverRequest")(model=model, **fields)
            return calls.ask("Discovery/Discover", request, "DiscoverResponse", repeatable=True)
        finally:
            calls.close()

    def worker_states(self) -> dict[str, str]:
        with self.admin() as admin:
            return {worker["worker_id"]: worker["state"] for worker in admin.workers()}

    def infer(self, model: str, *values: float, found: Any = None, **facts: Any) -> list[float]:
        found = found or self.discover(model)
        return infer(found.workers[0].address, found.token, model, *values, **facts)

    def close(self) -> None:
        for role in self.roles:
            if role.popen.poll() is None:
                role.kill()


def infer(
    address: str, token: str, model: str, *values: float, version: str = "", timeout: float = 30
) -> list[float]:
    metadata = (("authorization", f"Bearer {token}"),) if token else ()
    with grpc.insecure_channel(address) as channel:
        body = channel.unary_unary(INFER)(
            asking(model, *values, version=version), timeout=timeout, metadata=metadata
        )
    raw = np.frombuffer(Response.FromString(body).raw_output_contents[0], np.float32)
    return [float(value) for value in raw.reshape(len(values), -1)[:, 0]]


def refusal(ask: Callable[[], Any]) -> tuple[str, str]:
    """The status and the words of a call that must fail."""
    try:
        answer = ask()
    except grpc.RpcError as failed:
        return failed.code().name, failed.details() or ""
    raise AssertionError(f"answered: {answer}")
