"""Options of servers and channels. The defaults are what fault tests showed to hold."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from inferflow.rpc.tls_channel import ChannelTls

Options = Sequence[tuple[str, int | str]]

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ServerOptions:
    max_receive_bytes: int = 16 * MIB
    max_metadata_bytes: int = 8192
    max_streams: int = 256
    """Calls one connection may have under way."""
    handshake_timeout_ms: int = 3_000
    """A connection that does not speak HTTP/2 by then is closed."""
    idle_ms: int = 300_000
    age_ms: int = 1_800_000
    """Connections are renewed now and then, so that clients find new servers."""
    age_grace_ms: int = 30_000
    min_ping_interval_ms: int = 5_000
    """Must stay below the ping period of clients, or they are sent away for pinging."""
    max_pending: int = 128
    """Calls that may wait inside gRPC before we get to see them; others are cut off with CANCELLED.
    That takes a third of the processor time of a refusal of ours, but is less polite. Where more
    may wait, they do so for longer than most deadlines when a server has too much to do."""
    share_port: bool = False
    """Whether another process may listen on the same port. By accident, that is an error."""

    def listed(self) -> Options:
        return (
            ("grpc.max_receive_message_length", self.max_receive_bytes),
            ("grpc.max_send_message_length", -1),
            ("grpc.max_metadata_size", self.max_metadata_bytes),
            ("grpc.max_concurrent_streams", self.max_streams),
            ("grpc.server_handshake_timeout_ms", self.handshake_timeout_ms),
            ("grpc.max_connection_idle_ms", self.idle_ms),
            ("grpc.max_connection_age_ms", self.age_ms),
            ("grpc.max_connection_age_grace_ms", self.age_grace_ms),
            ("grpc.http2.min_recv_ping_interval_without_data_ms", self.min_ping_interval_ms),
            ("grpc.server.max_pending_requests", self.max_pending),
            ("grpc.server.max_pending_requests_hard_limit", self.max_pending),
            ("grpc.so_reuseport", int(self.share_port)),
        )


@dataclass(frozen=True, slots=True)
class ChannelOptions:
    max_receive_bytes: int = 64 * MIB
    keepalive_ms: int = 10_000
    keepalive_timeout_ms: int = 2_000
    """Also the ping timeout: without that one, a peer that hangs is not noticed at all."""
    first_backoff_ms: int = 100
    max_backoff_ms: int = 2_000
    attempts: int = 3
    """Tries per call, the first included. Only UNAVAILABLE is tried again; 1 turns it off."""
    watch_health: bool = False
    """Leave out servers that say they are not serving, such as one that drains."""
    eject_after_ms: int | None = None
    """Of several servers, leave out one of which most calls failed in as long a time, each time
    for longer; at most half of them. None leaves out none."""
    own_connection: bool = False
    """Otherwise channels to one address share a connection when their options are equal."""
    tls: ChannelTls | None = None
    """None speaks in plain text."""

    def listed(self) -> Options:
        return (
            ("grpc.max_receive_message_length", self.max_receive_bytes),
            ("grpc.keepalive_time_ms", self.keepalive_ms),
            ("grpc.keepalive_timeout_ms", self.keepalive_timeout_ms),
            ("grpc.http2.ping_timeout_ms", self.keepalive_timeout_ms),
            ("grpc.initial_reconnect_backoff_ms", self.first_backoff_ms),
            ("grpc.max_reconnect_backoff_ms", self.max_backoff_ms),
            ("grpc.enable_retries", int(self.attempts > 1)),
            ("grpc.use_local_subchannel_pool", int(self.own_connection)),
            ("grpc.service_config", json.dumps(self._service_config())),
        )

    def _service_config(self) -> dict[str, object]:
        balancing: dict[str, object] = {"round_robin": {}}
        if self.eject_after_ms is not None:
            balancing = {"outlier_detection_experimental": _ejection(self.eject_after_ms)}
        config: dict[str, object] = {"loadBalancingConfig": [balancing]}
        if self.watch_health:
            config["healthCheckConfig"] = {"serviceName": ""}
        if self.attempts > 1:
            retry = {
                "maxAttempts": self.attempts,
                "initialBackoff": "0.01s",
                "maxBackoff": "0.1s",
                "backoffMultiplier": 2,
                "retryableStatusCodes": ["UNAVAILABLE"],
            }
            config["methodConfig"] = [{"name": [{}], "retryPolicy": retry}]
            # Retries stop when more than about one call in ten needs them.
            config["retryThrottling"] = {"maxTokens": 100, "tokenRatio": 0.1}
        return config


def _ejection(interval_ms: int) -> dict[str, object]:
    return {
        "interval": _seconds(interval_ms),
        "baseEjectionTime": _seconds(5 * interval_ms),
        "maxEjectionTime": _seconds(60 * interval_ms),
        "maxEjectionPercent": 50,
        "failurePercentageEjection": {
            "threshold": 50,
            "enforcementPercentage": 100,
            "minimumHosts": 2,
            "requestVolume": 5,
        },
        "childPolicy": [{"round_robin": {}}],
    }


def _seconds(milliseconds: int) -> str:
    return f"{milliseconds / 1000:.3f}s"
