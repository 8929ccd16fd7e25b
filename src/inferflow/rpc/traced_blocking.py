"""The same as `traced_channel` for threads that wait, without an event loop.

A thread has a span where it works for a call: `asyncio.to_thread` hands it over. Threads of their
own, which keep up links and watches, have none, and their calls are passed on as they are.
"""

from __future__ import annotations

from typing import Any

import grpc

from inferflow.rpc.ambient import ambient_span
from inferflow.rpc.traced_channel import end_call, told
from inferflow.tracing import Span, current_span


class TracedBlockingChannel:
    """Stands for a channel wherever methods are called on one and waited for."""

    def __init__(self, channel: Any) -> None:
        self._channel = channel

    def unary_unary(self, path: str, *codec: Any, **more: Any) -> Any:
        return _answered(path, self._channel.unary_unary(path, *codec, **more))

    def stream_unary(self, path: str, *codec: Any, **more: Any) -> Any:
        return _answered(path, self._channel.stream_unary(path, *codec, **more))

    def unary_stream(self, path: str, *codec: Any, **more: Any) -> Any:
        return _streamed(path, self._channel.unary_stream(path, *codec, **more))

    def stream_stream(self, path: str, *codec: Any, **more: Any) -> Any:
        return _streamed(path, self._channel.stream_stream(path, *codec, **more))

    def close(self) -> None:
        self._channel.close()

    def __enter__(self) -> TracedBlockingChannel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _answered(path: str, method: Any) -> Any:
    """A method that returns when the answer is there."""

    def call(*asked: Any, metadata: Any = None, **options: Any) -> Any:
        span, own = _spans(path)
        if own is None:
            return method(*asked, metadata=metadata, **options)
        beside = told(metadata, own)
        if not own.is_kept or own is span:
            return method(*asked, metadata=beside, **options)
        try:
            answer = method(*asked, metadata=beside, **options)
        except BaseException as failed:
            end_call(own, _status(failed))
            raise
        end_call(own, "OK")
        return answer

    return call


def _streamed(path: str, method: Any) -> Any:
    """A method that returns at once; its span ends with the stream."""

    def call(*asked: Any, metadata: Any = None, **options: Any) -> Any:
        span, own = _spans(path)
        if own is None:
            return method(*asked, metadata=metadata, **options)
        called = method(*asked, metadata=told(metadata, own), **options)
        if own.is_kept and own is not span:
            called.add_done_callback(lambda done: end_call(own, done.code().name))
        return called

    return call


def _spans(path: str) -> tuple[Span | None, Span | None]:
    """The span a call is made for, and the call's own."""
    span = current_span() or ambient_span()
    return (None, None) if span is None else (span, span.child(path[1:], "client"))


def _status(failed: BaseException) -> str:
    call: Any = failed  # what a call raises is also the call
    return str(call.code().name) if isinstance(failed, grpc.RpcError) else "UNKNOWN"
