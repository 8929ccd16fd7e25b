"""Channels to one server, or to several that answer alike."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from typing import Any

import grpc

from inferflow.errors import InvalidInput
from inferflow.rpc.options import ChannelOptions
from inferflow.rpc.renewed_channel import RenewedChannel
from inferflow.rpc.traced_blocking import TracedBlockingChannel
from inferflow.rpc.traced_channel import TracedChannel


def open_channel(
    addresses: str | Sequence[str], options: ChannelOptions | None = None
) -> grpc.aio.Channel:
    """Several addresses share the calls in turn. Over TLS when the options say so."""
    return channel_to(target_of(addresses), options)


def channel_to(target: str, options: ChannelOptions | None = None) -> grpc.aio.Channel:
    """The same for what `target_of` has found, so that nothing is looked up here."""
    options = options or ChannelOptions()
    opened: Any = TracedChannel(_opened(target, options))
    channel: grpc.aio.Channel = opened  # as far as anybody here calls it
    return channel


def _opened(target: str, options: ChannelOptions) -> Any:
    tls = options.tls
    if tls is None:
        return grpc.aio.insecure_channel(target, options=options.listed())
    listed = (*options.listed(), *tls.options(target))
    return RenewedChannel(
        tls.files, lambda shown: grpc.aio.secure_channel(target, shown, options=listed)
    )


def open_blocking_channel(
    addresses: str | Sequence[str], options: ChannelOptions | None = None
) -> grpc.Channel:
    """The same for a thread that waits, without an event loop."""
    opened: Any = TracedBlockingChannel(
        _opened_blocking(target_of(addresses), options or ChannelOptions())
    )
    channel: grpc.Channel = opened
    return channel


def _opened_blocking(target: str, options: ChannelOptions) -> Any:
    tls = options.tls
    if tls is None:
        return grpc.insecure_channel(target, options=options.listed())
    listed = (*options.listed(), *tls.options(target))
    return RenewedChannel(
        tls.files, lambda shown: grpc.secure_channel(target, shown, options=listed)
    )


def target_of(addresses: str | Sequence[str]) -> str:
    """gRPC's way of writing one address or several. Names in a list are looked up once."""
    listed = addresses.split(",") if isinstance(addresses, str) else list(addresses)
    parts = [_split(address.strip()) for address in listed]
    if len(parts) == 1:
        host, port = parts[0]
        return f"dns:///[{host}]:{port}" if ":" in host else f"dns:///{host}:{port}"
    numeric = [_numeric(host, port) for host, port in parts]
    if len({":" in host for host, _ in numeric}) > 1:
        raise InvalidInput(f"{', '.join(listed)}: IPv4 and IPv6 addresses cannot share a channel")
    if ":" in numeric[0][0]:
        return "ipv6:" + ",".join(f"[{host}]:{port}" for host, port in numeric)
    return "ipv4:" + ",".join(f"{host}:{port}" for host, port in numeric)


def _split(address: str) -> tuple[str, int]:
    scheme, is_url, rest = address.partition("://")
    if is_url:
        bare = rest.rstrip("/")
        raise InvalidInput(f"{address!r} is a URL; write {bare}, without {scheme}://")
    host, colon, port = address.rpartition(":")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 65536:
        raise InvalidInput(f"{address!r} is not an address; write host:port")
    return host.removeprefix("[").removesuffix("]"), int(port)


def _numeric(host: str, port: int) -> tuple[str, int]:
    try:
        return str(ipaddress.ip_address(host)), port
    except ValueError:
        pass
    try:
        found = socket.getaddrinfo(host, port, socket.AF_INET, socket.SOCK_STREAM)
    except OSError as unknown:
        raise InvalidInput(f"{host}: no such host: {unknown.strerror}") from unknown
    return str(found[0][4][0]), port
