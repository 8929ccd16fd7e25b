"""A listening gRPC server: its options, health and reflection, and how it ends.

Ending has a fixed order: say NOT_SERVING, wait until clients have noticed, then stop taking
calls and let those under way finish. In any other order, calls are cut off.
"""

from __future__ import annotations

import asyncio
import ipaddress
from collections.abc import Awaitable, Callable, Sequence

import grpc
from google.protobuf.descriptor_pool import DescriptorPool
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2, reflection_pb2_grpc

from inferflow._proto.pool import declared_files, pool_of
from inferflow.errors import InvalidInput
from inferflow.rpc.listening import check_free
from inferflow.rpc.options import ServerOptions
from inferflow.rpc.tls_server import ServerTls
from inferflow.rpc.traced_server import traced

Wait = Callable[[float], Awaitable[object]]


class RpcServer:
    """A server that answers on one port. Made by `start_server`."""

    def __init__(
        self, server: grpc.aio.Server, health: health.aio.HealthServicer, services: Sequence[str]
    ) -> None:
        self._server = server
        self._health = health
        self._services = ("", *services)
        self.port = 0

    async def say_serving(self, serving: bool) -> None:
        """What health checks are told, for the server as a whole and for each service."""
        statuses = health_pb2.HealthCheckResponse
        status = statuses.SERVING if serving else statuses.NOT_SERVING
        for service in self._services:
            await self._health.set(service, status)

    async def drain(self, *, pause_s: float, grace_s: float, wait: Wait = asyncio.sleep) -> None:
        """End without cutting off anybody who is still inside after `pause_s`."""
        await self.say_serving(False)
        await wait(pause_s)
        await self._server.stop(grace_s)

    async def stop(self) -> None:
        """End now."""
        await self._server.stop(None)


async def start_server(
    handlers: Sequence[grpc.GenericRpcHandler],
    *,
    services: Sequence[str],
    host: str = "127.0.0.1",
    port: int = 0,
    options: ServerOptions | None = None,
    max_calls: int | None = None,
    reflect: bool | None = None,
    tls: ServerTls | None = None,
) -> RpcServer:
    """Listen on `host:port` (0: any free one). Health says NOT_SERVING until told otherwise.

    `reflect` None: reflection only where nobody else can reach it. Raises InvalidInput when
    the port is taken.
    """
    options = options or ServerOptions()
    # gRPC would only say that it failed, and not why.
    check_free(host, port, shared=options.share_port)
    server = grpc.aio.server(
        handlers=traced(handlers), options=options.listed(), maximum_concurrent_rpcs=max_calls
    )
    checks = health.aio.HealthServicer()
    health_pb2_grpc.add_HealthServicer_to_server(checks, server)
    if is_loopback(host) if reflect is None else reflect:
        _add_reflection(server, services)
    started = RpcServer(server, checks, services)
    address = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
    try:
        if tls is None:
            started.port = server.add_insecure_port(address)
        else:
            started.port = server.add_secure_port(address, tls.grpc_credentials())
    except RuntimeError as refused:
        await server.stop(None)
        raise InvalidInput(f"cannot listen on {address}") from refused
    await started.say_serving(False)
    await server.start()
    return started


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _add_reflection(server: grpc.aio.Server, services: Sequence[str]) -> None:
    pool = _described()
    names = [*services, health.SERVICE_NAME, reflection.SERVICE_NAME]
    reflection_pb2_grpc.add_ServerReflectionServicer_to_server(
        reflection.aio.ReflectionServicer(names, pool), server
    )


def _described() -> DescriptorPool:
    """Our private messages together with the standard services, for clients that ask."""
    pool = pool_of(declared_files())
    for standard in (health_pb2.DESCRIPTOR, reflection_pb2.DESCRIPTOR):
        pool.AddSerializedFile(standard.serialized_pb)
    return pool
