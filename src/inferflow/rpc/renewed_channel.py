"""A channel that is opened anew when the certificates it was opened with have changed.

gRPC takes a client's certificate once, when a channel is opened, and would show it at every later
connection until long after it has expired. So the files are looked at before a call, at most once
a second; calls under way finish on the channel they began on, and closing leaves none behind.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any, Generic, TypeVar

import grpc

from inferflow.rpc.tls import Certificates, TlsFiles

C = TypeVar("C", bound=grpc.aio.Channel | grpc.Channel)

_LOOK_S = 1.0
_GRACE_S = 60.0

Credentials = grpc.ChannelCredentials


class RenewedChannel(Generic[C]):
    """Stands for a channel wherever methods are called on one. Used from one event loop, or from
    any number of threads."""

    def __init__(
        self,
        files: TlsFiles,
        opened: Callable[[Credentials], C],
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises InvalidInput for files that cannot be used."""
        self._certificates = Certificates(files)
        self._opened = opened
        self._clock = clock
        self._shown = self._certificates.current()
        self._channel: C = opened(self._credentials())
        self._before: C | None = None
        self._ending: dict[grpc.aio.Channel, asyncio.Task[None]] = {}
        """Channels whose last calls are still under way."""
        self._renewing = threading.Lock()
        self._looked = clock()

    def current(self) -> C:
        if self._clock() - self._looked >= _LOOK_S:
            with self._renewing:
                self._look()
        return self._channel

    def _look(self) -> None:
        now = self._clock()
        if now - self._looked < _LOOK_S:
            return  # another thread has just looked
        self._looked = now
        pems = self._certificates.current()
        if pems is not self._shown:
            self._shown = pems
            old, self._channel = self._channel, self._opened(self._credentials())
            self._retire(old)

    def unary_unary(self, path: str) -> Any:
        return self._method("unary_unary", path)

    def unary_stream(self, path: str) -> Any:
        return self._method("unary_stream", path)

    def stream_unary(self, path: str) -> Any:
        return self._method("stream_unary", path)

    def stream_stream(self, path: str) -> Any:
        return self._method("stream_stream", path)

    async def channel_ready(self) -> None:
        channel: Any = self.current()
        await channel.channel_ready()

    def close(self, grace: float | None = None) -> Any:
        """To be awaited where the channel's own is."""
        if isinstance(self._channel, grpc.aio.Channel):
            return self._closed(self._channel, grace)
        if self._before is not None:
            self._before.close()
        return self._channel.close()

    def __enter__(self) -> RenewedChannel[C]:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _method(self, kind: str, path: str) -> Any:
        made: tuple[object, Any] = (None, None)

        def call(*args: Any, **kwargs: Any) -> Any:
            nonlocal made
            channel = self.current()
            if made[0] is not channel:
                made = (channel, getattr(channel, kind)(path))
            return made[1](*args, **kwargs)

        return call

    async def _closed(self, channel: grpc.aio.Channel, grace: float | None) -> None:
        ending = dict(self._ending)
        for closing in ending.values():
            closing.cancel()
        await asyncio.gather(*ending.values(), return_exceptions=True)
        await asyncio.gather(*(each.close(grace) for each in (channel, *ending)))

    def _retire(self, old: C) -> None:
        if isinstance(old, grpc.aio.Channel):
            closing = asyncio.ensure_future(_closed_later(old))
            self._ending[old] = closing
            closing.add_done_callback(lambda _: self._ending.pop(old, None))
            return
        if self._before is not None:
            self._before.close()
        self._before = old  # closing it now would cut off calls under way

    def _credentials(self) -> Credentials:
        shown = self._shown
        return grpc.ssl_channel_credentials(shown.ca or None, shown.key or None, shown.cert or None)


async def _closed_later(channel: grpc.aio.Channel) -> None:
    """Not with a grace of the channel's own: once that has begun, nobody can cut it short."""
    await asyncio.sleep(_GRACE_S)
    await channel.close()
