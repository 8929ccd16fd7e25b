"""The client for code without an event loop: the same one, waited for."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import partial
from types import TracebackType
from typing import Any

from inferflow.client.aio import AsyncClient, ClientOptions
from inferflow.client.background import SHARED
from inferflow.engine.asking import Asking
from inferflow.engine.request import ScoreRequest
from inferflow.errors import InvalidInput
from inferflow.explanation import Explanation
from inferflow.scores import Scores


class Client(Asking[Scores]):
    """A client for any number of threads. Close it, or use it in a `with` block."""

    def __init__(self, client: AsyncClient) -> None:
        self._client = client
        client.items = self._item
        self._is_closed = False

    def answer(self, request: ScoreRequest | Mapping[str, Any]) -> Scores:
        """Score a request, as an object or in its JSON form."""
        if self._is_closed:
            raise InvalidInput("this client is closed")
        scores = SHARED.run(self._client.answer(request))
        if scores.recorder is not None:
            scores.recorder = partial(self._waited_for, scores.recorder)
        return scores

    def explain(self, config_id: str, request: ScoreRequest | Mapping[str, Any]) -> Explanation:
        """Score a request, watched, and say what happened; when it failed, up to the step it
        failed at."""
        return SHARED.run(self._client.explain(config_id, request))

    def explanation(self, recording: str) -> Explanation:
        """What a server keeps of a request. Raises NotFound when it was never kept, or had to
        make room for others."""
        return SHARED.run(self._client.explanation(recording))

    def recordings(self, last: int = 0) -> list[dict[str, Any]]:
        """Requests a server keeps: slow, failed, or asked for. Newest first; 0: all of them."""
        return SHARED.run(self._client.recordings(last))

    def configs(self) -> list[dict[str, Any]]:
        """How each config stands: what serves, since when, and what is wrong with it."""
        return SHARED.run(self._client.configs())

    def _item(self, recording: str, item: str) -> Explanation:
        return SHARED.run(self._client.explanation(recording, item))

    def _waited_for(self, ask: Callable[[], Coroutine[Any, Any, Explanation]]) -> Explanation:
        return SHARED.run(ask())

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
