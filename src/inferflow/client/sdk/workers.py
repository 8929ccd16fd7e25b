"""Connections to workers, and how each of them does.

A connection is held by the sessions that name its worker and by calls under way, and by nothing
else: it closes when the last of them is gone.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable
from typing import Any

import grpc

from inferflow.client.oip.line import INFER
from inferflow.engine.deadline import Clock
from inferflow.rpc.channel import open_channel
from inferflow.rpc.options import ChannelOptions

STREAM = "/inference.GRPCInferenceService/ModelStreamInfer"

FIRST_AWAY_S, LONGEST_AWAY_S = 1.0, 30.0
_SILENCES = 2
"""So many calls in a row without an answer in time, and a worker is taken for hung."""


class Worker:
    """One worker as this client knows it."""

    def __init__(self, worker_id: str, address: str, channel: grpc.aio.Channel) -> None:
        self.worker_id = worker_id
        self.address = address
        self.channel = channel
        self.infer: Any = channel.unary_unary(INFER)
        self.stream: Any = channel.stream_stream(STREAM)
        self.in_flight = 0
        self._failures = 0
        self._silences = 0
        self._away_until = 0.0

    def is_away(self, now: float) -> bool:
        """Whether others had better be asked first."""
        return now < self._away_until

    def answered(self) -> None:
        if self._failures or self._silences:
            self._failures = self._silences = 0
            self._away_until = 0.0

    def failed(self, now: float) -> None:
        """It is asked last for a second, and for longer each time."""
        self._failures += 1
        pause_s = min(FIRST_AWAY_S * 2.0 ** min(self._failures - 1, 16), LONGEST_AWAY_S)
        self._away_until = now + pause_s

    def was_silent(self, now: float) -> bool:
        """It did not answer in time. True once that can no longer be the model's slowness alone."""
        self._silences += 1
        if self._silences < _SILENCES:
            return False
        self.failed(now)
        return True


class Workers:
    """Every worker some session names. For one event loop."""

    def __init__(self, options: ChannelOptions) -> None:
        self._options = options
        self._known: weakref.WeakValueDictionary[tuple[str, str], Worker]
        self._known = weakref.WeakValueDictionary()

    def get(self, worker_id: str, address: str) -> Worker:
        """Raises InvalidInput when that is no address."""
        found = self._known.get((worker_id, address))
        if found is None:
            found = Worker(worker_id, address, open_channel(address, self._options))
            self._known[worker_id, address] = found
        return found

    async def close(self) -> None:
        """Calls under way are cancelled."""
        for worker in list(self._known.values()):
            await worker.channel.close()


def order(workers: Iterable[Worker], clock: Clock, *, sticky: bool) -> list[Worker]:
    """Whom to ask, first to last: who is there, then who has least to do for us. The order they
    come in decides between equals, and between all when calls are to stay with one."""
    now = clock()
    if sticky:
        return sorted(workers, key=lambda worker: worker.is_away(now))
    return sorted(workers, key=lambda worker: (worker.is_away(now), worker.in_flight))
