"""The client of a fleet for code without an event loop: the same one, waited for."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from types import TracebackType

from inferflow.client.background import SHARED
from inferflow.client.sdk.aio import AHEAD, AsyncFleetClient
from inferflow.client.sdk.fleet import FleetOptions
from inferflow.client.sdk.tensors import Inputs, Outputs
from inferflow.errors import InvalidInput
from inferflow.rpc.tls_channel import ChannelTls


class FleetClient:
    """A client for any number of threads. Close it, or use it in a `with` block."""

    def __init__(self, client: AsyncFleetClient) -> None:
        self._client = client
        self._is_closed = False

    def infer(
        self,
        model: str,
        inputs: Inputs,
        *,
        version: str | int | None = None,
        stage: str | None = None,
        affinity: str | None = None,
        needs_gpu: bool = False,
        outputs: Sequence[str] | None = None,
        deadline_ms: float | None = None,
    ) -> Outputs:
        """Run a model on arrays by the names of its inputs; its outputs by theirs.

        The version in production answers unless a `version` or a `stage` is named. Calls with the
        same `affinity` go to the same worker while it is there. Arrays of the answer are read-only.
        """
        self._check_open()
        return SHARED.run(
            self._client.infer(
                model,
                inputs,
                version=version,
                stage=stage,
                affinity=affinity,
                needs_gpu=needs_gpu,
                outputs=outputs,
                deadline_ms=deadline_ms,
            )
        )

    def stream(
        self,
        model: str,
        inputs: Iterable[Inputs],
        *,
        version: str | int | None = None,
        stage: str | None = None,
        affinity: str | None = None,
        needs_gpu: bool = False,
        outputs: Sequence[str] | None = None,
        deadline_ms: float | None = None,
        ahead: int = AHEAD,
    ) -> Iterator[Outputs]:
        """Run a model on one set of inputs after another, over one connection.

        Answers come in the order of the inputs. Up to `ahead` inputs are taken before the first
        answer is given. `deadline_ms` is what each may take. The first that fails ends the stream
        with its error.
        """
        self._check_open()
        feed = _Feed()
        answers = self._client.stream(
            model,
            feed,
            version=version,
            stage=stage,
            affinity=affinity,
            needs_gpu=needs_gpu,
            outputs=outputs,
            deadline_ms=deadline_ms,
            ahead=ahead,
        )
        under_way = 0
        try:
            for each in inputs:
                SHARED.run(feed.put(each))
                under_way += 1
                if under_way == ahead:
                    yield SHARED.run(_next(answers))
                    under_way -= 1
            SHARED.run(feed.put(None))
            for _ in range(under_way):
                yield SHARED.run(_next(answers))
        finally:
            if not self._is_closed:
                SHARED.run(answers.aclose())

    def _check_open(self) -> None:
        if self._is_closed:
            raise InvalidInput("this client is closed")

    def close(self) -> None:
        """Calls under way are cancelled."""
        if not self._is_closed:
            self._is_closed = True
            SHARED.run(self._client.close())
            SHARED.release()

    def __enter__(self) -> FleetClient:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class _Feed:
    """Inputs that a thread gives, for the event loop to take."""

    def __init__(self) -> None:
        self._given: asyncio.Queue[Inputs | None] = asyncio.Queue()

    async def put(self, inputs: Inputs | None) -> None:
        """None: there are no more."""
        self._given.put_nowait(inputs)

    def __aiter__(self) -> AsyncIterator[Inputs]:
        return self._taken()

    async def _taken(self) -> AsyncIterator[Inputs]:
        while (inputs := await self._given.get()) is not None:
            yield inputs


async def _next(answers: AsyncIterator[Outputs]) -> Outputs:
    return await anext(answers)


def open_fleet_client(
    managers: str | Sequence[str],
    *,
    key: str,
    deadline_ms: float | None,
    tls: ChannelTls | None = None,
) -> FleetClient:
    async def opened() -> AsyncFleetClient:  # gRPC wants to be in its loop
        options = FleetOptions(tls=tls)
        return AsyncFleetClient(managers, key=key, deadline_ms=deadline_ms, options=options)

    SHARED.hold()
    try:
        return FleetClient(SHARED.run(opened()))
    except BaseException:
        SHARED.release()
        raise
