"""What the gateway needs of others, in its own words.

Everything behind a port may be in this process or on another host; a port raises errors of
`inferflow.errors` and nothing else.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from typing import Any, Protocol

from inferflow.access import ModelPatterns, Permission
from inferflow.access.gate import Gate, OpenGate
from inferflow.api.gateway.management.ports import BackOffice
from inferflow.engine.request import ScoreRequest
from inferflow.scores import Scores


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as far as is known."""

    key_id: str | None
    name: str | None
    permissions: frozenset[Permission]
    credential: str = field(default="", repr=False)
    """The key itself, for servers behind the gateway that check it too; empty without one."""
    has_own_rate: bool = False
    """How often it may ask is on its key, and counted by the gate."""
    models: ModelPatterns = field(default_factory=ModelPatterns)
    """Which models and configs it is for."""


ANYBODY = Caller(None, None, frozenset(Permission))
"""Whoever asks a gateway that does not authenticate."""


@dataclass(frozen=True, slots=True)
class Beside:
    """What travels beside a request, from the caller to whoever answers."""

    credential: str = field(default="", repr=False)
    request_id: str = ""
    trace: tuple[tuple[str, str], ...] = ()
    """`traceparent` and `tracestate`, where they came."""
    deadline_ms: float = 1_000.0


class Scoring(Protocol):
    """Scores requests. Raises what a client of an orchestrator raises."""

    async def score(self, request: ScoreRequest, beside: Beside) -> Scores: ...

    async def is_ready(self) -> bool: ...


class Models(Protocol):
    """Models behind the Open Inference Protocol; messages are those of its gRPC form.

    `ask` is for everything but inference: a method's name, and its request as a message.
    """

    async def infer(self, model: str, version: str, body: bytes, beside: Beside) -> bytes: ...

    async def ask(self, method: str, request: Any, beside: Beside) -> Any: ...


class Metrics(Protocol):
    """Counts what was asked over HTTP, and shows all there is to show."""

    def answered(self, method: str, route: str, status: int, seconds: float) -> None: ...

    def render(self) -> bytes: ...


@dataclass(frozen=True, slots=True)
class Bounds:
    """How much, how long, and from where."""

    body_bytes: int = 16 * 1024 * 1024
    upload_bytes: int = 4 * 1024 * 1024 * 1024
    """For files of models, which are never held in memory."""
    body_ms: float = 10_000.0
    """A body must have come by then; each megabyte of an upload has as long."""
    default_deadline_ms: float = 1_000.0
    max_deadline_ms: float = 10_000.0
    rate: str = ""
    """How often a caller without a rate on its key may ask, such as `1000/second`; empty: as
    often as it likes."""
    origins: tuple[str, ...] = ()
    """Pages of other hosts that may call from a browser."""
    is_loopback: bool = True
    """Only this machine can connect; so whoever asks by another name was led here."""
    sockets: int = 1_000
    """Open at a time, in all."""
    sockets_each: int = 200
    """Open at a time, of one key; of one address while no key is known."""
    socket_idle_ms: float = 600_000.0
    """A socket that says nothing for so long is closed."""
    socket_look_ms: float = 1_000.0
    """How often the key of an open socket is looked at."""


@dataclass(frozen=True, slots=True)
class Ports:
    gate: Gate | OpenGate
    scoring: Scoring | None = None
    models: Models | None = None
    metrics: Metrics | None = None
    office: BackOffice = field(default_factory=BackOffice)
    bounds: Bounds = field(default_factory=Bounds)
    leaving: asyncio.Event = field(default_factory=asyncio.Event)
    """Set when this process is about to end."""
