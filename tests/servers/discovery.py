"""A manager that only knows where to send callers, and does as it is told. Runs on threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import grpc

from inferflow._proto.pool import message_class

DiscoverRequest = message_class("inferflow.serving.v1.DiscoverRequest")
DiscoverResponse = message_class("inferflow.serving.v1.DiscoverResponse")
GetModelRequest = message_class("inferflow.serving.v1.GetModelRequest")
Model = message_class("inferflow.serving.v1.Model")


@dataclass
class DiscoveryServer:
    """What a test may look at and change while it runs."""

    workers: dict[str, str] = field(default_factory=dict)
    """Addresses by id, best first. Those to be avoided are named last."""
    most_named: int = 16
    version: str = "1"
    lives_s: float = 300.0
    """How long tokens live."""
    refusal: tuple[grpc.StatusCode, str] | None = None
    models: dict[str, Any] = field(default_factory=dict)
    asked: list[Any] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    address: str = ""
    gate: threading.Event = field(default_factory=threading.Event)
    """Answers only when set, as it is from the start."""

    def __post_init__(self) -> None:
        self.gate.set()

    def discover(self, body: bytes, context: Any) -> bytes:
        request = DiscoverRequest.FromString(body)
        self.asked.append(request)
        self.keys.append(dict(context.invocation_metadata()).get("authorization", ""))
        self.gate.wait(10)
        if self.refusal is not None:
            context.abort(*self.refusal)
        answer = DiscoverResponse(
            model=request.model,
            version=request.version or self.version,
            token=f"token-{len(self.asked)}",
            token_expires_ms=int((time.time() + self.lives_s) * 1000),
        )
        avoided = set(request.avoid)
        best = sorted(self.workers.items(), key=lambda it: it[0] in avoided)
        for worker_id, address in best[: self.most_named]:
            answer.workers.add(worker_id=worker_id, address=address)
        done: bytes = answer.SerializeToString()
        return done

    def get_model(self, body: bytes, context: Any) -> bytes:
        name = GetModelRequest.FromString(body).name
        if self.refusal is not None:
            context.abort(*self.refusal)
        if name not in self.models:
            context.abort(grpc.StatusCode.NOT_FOUND, f"no model {name!r}")
        done: bytes = self.models[name].SerializeToString()
        return done


@contextmanager
def managing(manager: DiscoveryServer) -> Iterator[DiscoveryServer]:
    """Listens on a free port of this machine until the block is left."""
    unary = grpc.unary_unary_rpc_method_handler
    listening = grpc.server(ThreadPoolExecutor(8), options=(("grpc.so_reuseport", 0),))
    listening.add_generic_rpc_handlers(
        (
            grpc.method_handlers_generic_handler(
                "inferflow.serving.v1.Discovery", {"Discover": unary(manager.discover)}
            ),
            grpc.method_handlers_generic_handler(
                "inferflow.serving.v1.Registry", {"GetModel": unary(manager.get_model)}
            ),
        )
    )
    manager.address = f"127.0.0.1:{listening.add_insecure_port('127.0.0.1:0')}"
    listening.start()
    try:
        yield manager
    finally:
        manager.gate.set()
        stopped: threading.Event = listening.stop(None)
        stopped.wait()
