"""What to send, how often, for how long.

With a `rate` the loop is open: calls begin when they are due, whether or not earlier ones have
ended. Without one it is closed: so many calls are under way, and each that ends begins the next.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from inferflow.client.aio import headers_of
from inferflow.client.outgoing import outgoing
from inferflow.engine.request import ScoreRequest
from inferflow.errors import InvalidInput
from inferflow.rpc.headers import AUTHORIZATION
from inferflow.rpc.tls_channel import ChannelTls


@dataclass(frozen=True, slots=True)
class Call:
    """A call whose bytes are ready."""

    method: str
    """Full path, such as `/Predict/InferPointWise`."""
    body: bytes
    headers: tuple[tuple[str, str], ...] = ()


def with_key(call: Call, key: str) -> Call:
    """The same call by somebody with an API key; as it is without one."""
    if not key:
        return call
    return replace(call, headers=(*call.headers, (AUTHORIZATION, f"Bearer {key}")))


@dataclass(frozen=True, slots=True)
class Load:
    target: str
    """`host:port`, or several with commas between."""
    calls: tuple[Call, ...]
    """Sent in turn."""
    seconds: float
    """How long to measure."""
    rate: float | None = None
    """Calls per second in an open loop; None for a closed one."""
    concurrency: int = 16
    """Calls under way at once in a closed loop."""
    connections: int = 16
    warmup_s: float = 1.0
    """The same load before, not measured."""
    deadline_s: float = 10.0
    """For each call."""
    most_in_flight: int = 10_000
    """In an open loop, calls that are due beyond so many are not sent, and counted."""
    throttle: float | None = None
    """What clients are given as `throttle`; each connection is one. None sends all."""
    tls: ChannelTls | None = None
    """None calls in plain text."""
    first: float = 0.0
    """How much of the pause between two calls passes before the first."""

    def __post_init__(self) -> None:
        _require(bool(self.calls), "calls", "at least one")
        _require(self.seconds > 0, "seconds", "more than 0")
        _require(self.rate is None or self.rate > 0, "rate", "more than 0")
        _require(self.concurrency >= 1, "concurrency", "at least 1")
        _require(self.connections >= 1, "connections", "at least 1")
        _require(self.warmup_s >= 0, "warmup_s", "0 or more")
        _require(self.deadline_s > 0, "deadline_s", "more than 0")

    def shares(self, processes: int) -> list[Load]:
        """The same load cut in parts that run side by side; calls of an open loop take turns."""
        _require(processes >= 1, "processes", "at least 1")
        _require(
            self.rate is not None or processes <= self.concurrency,
            "processes",
            f"at most {self.concurrency}, the number of calls under way",
        )
        return [
            replace(
                self,
                calls=self.calls[number % len(self.calls) :]
                + self.calls[: number % len(self.calls)],
                rate=None if self.rate is None else self.rate / processes,
                concurrency=max(1, _share(self.concurrency, number, processes)),
                connections=max(1, _share(self.connections, number, processes)),
                most_in_flight=max(1, _share(self.most_in_flight, number, processes)),
                first=number / processes,
            )
            for number in range(processes)
        ]


def call_for(request: ScoreRequest) -> Call:
    """The Predict call that a request fits: pairs and slates have calls of their own."""
    sent = outgoing(request)
    return Call(f"/Predict/{sent.method}", sent.body, headers_of(request))


def _share(whole: int, number: int, parts: int) -> int:
    return whole // parts + (number < whole % parts)


def _require(holds: bool, name: str, wanted: str) -> None:
    if not holds:
        raise InvalidInput(f"{name}: must be {wanted}")
