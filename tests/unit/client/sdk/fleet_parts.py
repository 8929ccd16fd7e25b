"""What tests of the fleet's client share: a manager, workers that double, and no pauses."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import grpc
import numpy as np

from inferflow.client.sdk.aio import AsyncFleetClient
from inferflow.client.sdk.fleet import FleetOptions
from inferflow.testing import ManualClock

from ....servers.discovery import DiscoveryServer, managing
from ....servers.open_inference import OipServer, serving
from ..oip.remote_parts import Pauses, twice, unused_address

X = np.array([[1.0], [2.5]], np.float32)
Y = [[2.0], [5.0]]


class FleetParts:
    """A manager and its workers, all of which do as they are told."""

    def __init__(self, manager: DiscoveryServer, workers: list[OipServer]) -> None:
        self.manager = manager
        self.workers = workers
        self.clock = ManualClock()
        self.pauses = Pauses()

    @property
    def counts(self) -> list[int]:
        """Requests that came to each worker."""
        return [len(worker.requests) for worker in self.workers]

    def client(self, **more: Any) -> AsyncFleetClient:
        options = FleetOptions(clock=self.clock, wait=self.pauses, chance=lambda: 1.0)
        given = {"key": "ifk_test", "deadline_ms": 5_000, "options": options, **more}
        return AsyncFleetClient(given.pop("managers", self.manager.address), **given)

    def run(self, use: Callable[[AsyncFleetClient], Coroutine[Any, Any, Any]], **more: Any) -> Any:
        async def main() -> Any:
            async with self.client(**more) as client:
                return await use(client)

        return asyncio.run(main())

    def infer(self, times: int = 1, **more: Any) -> list[Any]:
        """The answers to so many calls of one client."""

        async def use(client: AsyncFleetClient) -> list[Any]:
            return [
                (await client.infer("twice", {"x": X}, **more))["y"].tolist() for _ in range(times)
            ]

        answers: list[Any] = self.run(use)
        return answers


@contextmanager
def fleet(workers: int = 2, dead: tuple[str, ...] = ()) -> Iterator[FleetParts]:
    """`dead` are ids of further workers that are named first and not there."""
    with ExitStack() as held:
        running = [held.enter_context(serving(twice())) for _ in range(workers)]
        addresses = {name: unused_address() for name in dead}
        addresses |= {f"w{n}": worker.address for n, worker in enumerate(running, start=1)}
        manager = held.enter_context(managing(DiscoveryServer(addresses)))
        yield FleetParts(manager, running)


def refusing(
    code: grpc.StatusCode,
    text: str = "told to refuse",
    *,
    trailing: tuple[tuple[str, str], ...] = (),
) -> Callable[[Any, Any], bytes]:
    """What a worker does that answers with a status."""

    def infer(request: Any, context: Any) -> bytes:
        context.set_trailing_metadata(trailing)
        context.abort(code, text)
        raise AssertionError("abort raises")

    return infer
