"""Channels whose calls belong to the trace of whoever makes them.

A call that is made for a span gets one of its own and tells the server of it. In a program that
traces by itself with OpenTelemetry, its spans count as well (`ambient`). Any other call is passed
on as it is.
"""

from __future__ import annotations

from typing import Any

import grpc

from inferflow.rpc.ambient import ambient_span
from inferflow.rpc.traced_server import rpc_facts
from inferflow.tracing import TRACEPARENT, TRACESTATE, Span, current_span

_OWN = (TRACEPARENT, TRACESTATE)


class TracedChannel:
    """Stands for a channel of an event loop wherever methods are called on one."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def unary_unary(self, path: str, *codec: Any, **more: Any) -> Any:
        return traced_call(path, self._channel.unary_unary(path, *codec, **more))

    def unary_stream(self, path: str, *codec: Any, **more: Any) -> Any:
        return traced_call(path, self._channel.unary_stream(path, *codec, **more))

    def stream_unary(self, path: str, *codec: Any, **more: Any) -> Any:
        return traced_call(path, self._channel.stream_unary(path, *codec, **more))

    def stream_stream(self, path: str, *codec: Any, **more: Any) -> Any:
        return traced_call(path, self._channel.stream_stream(path, *codec, **more))

    async def channel_ready(self) -> None:
        await self._channel.channel_ready()

    def close(self, grace: float | None = None) -> Any:
        """To be awaited."""
        return self._channel.close(grace)

    async def __aenter__(self) -> TracedChannel:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def traced_call(path: str, method: Any) -> Any:
    """The method of a channel, called for whichever span is the current one."""
    name = path[1:]

    def call(*asked: Any, metadata: Any = None, **options: Any) -> Any:
        span = current_span() or ambient_span()
        if span is None:
            return method(*asked, metadata=metadata, **options)
        own = span.child(name, "client")
        called = method(*asked, metadata=told(metadata, own), **options)
        if own.is_kept and own is not span:
            called.add_done_callback(lambda done: end_call(own, _status(done)))
        return called

    return call


def told(metadata: Any, span: Span) -> tuple[Any, ...]:
    """What goes beside a call that is made for a span."""
    # A caller may have passed on what it was told itself; ours says more.
    others = [each for each in metadata or () if each[0] not in _OWN]
    return (*others, *span.headers())


def end_call(span: Span, status: str) -> None:
    span.facts.update(rpc_facts(span.name, status))
    span.end(None if status == "OK" else status)


def _status(done: Any) -> str:
    """The status of a call that has ended. It is there, though its library has it awaited."""
    asking = done.code()
    try:
        asking.send(None)
    except StopIteration as known:
        code: grpc.StatusCode = known.value
        return code.name
    except BaseException:  # nobody can wait here, and a span is no reason to fail a call
        return "UNKNOWN"
    asking.close()
    return "UNKNOWN"
