"""The client for code without an event loop: the same one, waited for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any

from inferflow.client.aio import AsyncClient, ClientOptions
from inferflow.client.background import SHARED
from inferflow.engine.asking import Asking
from inferflow.engine.request import ScoreRequest
from inferflow.errors import InvalidInput
from inferflow.scores import Scores


class Client(Asking[Scores]):
    """A client for any number of threads. Close it, or use it in a `with` block."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        self._is_closed = False

    def answer(self, request: ScoreRequest | Mapping[str, Any]) -> Scores:
        """Score a request, as an object or in its JSON form."""
        if self._is_closed:
            raise InvalidInput("this client is closed")
        return SHARED.run(self._client.answer(request))

    def close(self) -> None:
        """Calls under way are cancelled."""
        if not self._is_closed:
            self._is_closed = True
            SHARED.run(self._client.close())
            SHARED.release()

    def __enter__(self) -> Client:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_client(addresses: str | Sequence[str], options: ClientOptions) -> Client:
    async def opened() -> AsyncClient:
        return AsyncClient(addresses, options)  # gRPC wants to be in its loop

    SHARED.hold()
    try:
        return Client(SHARED.run(opened()))
    except BaseException:
        SHARED.release()
        raise
