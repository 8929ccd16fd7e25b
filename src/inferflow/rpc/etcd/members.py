"""Where etcd is: its members in a ring, one asked until it fails, then the next.

Each member has a channel of its own, so that its certificate is checked against its own name. A
member that hangs costs one call its deadline, and is not asked again until its turn comes.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import grpc

from inferflow.errors import InvalidInput
from inferflow.rpc.channel import target_of
from inferflow.rpc.options import ChannelOptions
from inferflow.rpc.traced_blocking import TracedBlockingChannel

PORT = 2379
_OPTIONS = ChannelOptions(attempts=1, own_connection=True, max_backoff_ms=1_000)
"""Without retries of gRPC's own: whether a call may be repeated is decided by who knows it."""


@dataclass(frozen=True, slots=True)
class EtcdOptions:
    """Where etcd is, who asks, and how long it may take."""

    endpoints: tuple[str, ...]
    """`host`, `host:port` or a URL each."""
    username: str = ""
    password: str = field(default="", repr=False)
    ca_file: str = ""
    """Of the authority that signed the members' certificates; the system's own when empty."""
    cert_file: str = ""
    key_file: str = ""
    dial_timeout_s: float = 5.0
    """For the first answer of all."""
    call_timeout_s: float = 2.0
    """For each answer after it."""

    @property
    def addresses(self) -> str:
        return ", ".join(self.endpoints)


class Members:
    """The channels to every member. Safe for threads."""

    def __init__(self, options: EtcdOptions) -> None:
        if not options.endpoints:
            raise InvalidInput("etcd: no endpoints are given; set ETCD_ENDPOINTS")
        self._options = options
        self._targets = [_target(each) for each in options.endpoints]
        if len({is_secret for _, is_secret in self._targets}) > 1:
            raise InvalidInput(
                f"etcd: {options.addresses}: either all endpoints use https or none does"
            )
        self._guard = threading.Lock()
        self._at = 0
        self._channels = [self._open(*each) for each in self._targets]

    def __len__(self) -> int:
        return len(self._channels)

    def current(self) -> tuple[int, grpc.Channel, str]:
        """Number, channel and address of the member to ask."""
        with self._guard:
            return self._at, self._channels[self._at], self._options.endpoints[self._at]

    def skip(self, number: int) -> None:
        """Ask another one than this from now on, unless that has happened already."""
        with self._guard:
            if number == self._at:
                self._at = (self._at + 1) % len(self._channels)

    def close(self) -> None:
        for channel in self._channels:
            channel.close()

    def _open(self, target: str, is_secret: bool) -> grpc.Channel:
        traced: Any = TracedBlockingChannel(self._opened(target, is_secret))
        channel: grpc.Channel = traced
        return channel

    def _opened(self, target: str, is_secret: bool) -> grpc.Channel:
        if not is_secret:
            return grpc.insecure_channel(target, options=_OPTIONS.listed())
        options = self._options
        credentials = grpc.ssl_channel_credentials(
            _content(options.ca_file), _content(options.key_file), _content(options.cert_file)
        )
        return grpc.secure_channel(target, credentials, options=_OPTIONS.listed())


def _target(endpoint: str) -> tuple[str, bool]:
    """gRPC's way of writing an endpoint, and whether it is spoken to in secret."""
    scheme, _, rest = endpoint.rpartition("://")
    if scheme not in ("", "http", "https"):
        raise InvalidInput(f"etcd: {endpoint!r}: write host:port, http://host:port or https://…")
    host = rest.rstrip("/")
    has_port = host.rpartition(":")[2].isdecimal() and (host.count(":") == 1 or "]:" in host)
    return target_of(host if has_port else f"{host}:{PORT}"), scheme == "https"


def _content(file: str) -> bytes | None:
    if not file:
        return None
    try:
        return Path(file).read_bytes()
    except OSError as unreadable:
        raise InvalidInput(f"etcd: {file}: cannot be read: {unreadable.strerror}") from unreadable
