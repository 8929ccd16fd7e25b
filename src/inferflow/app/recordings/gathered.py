"""The documents of several processes as if they were one's."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import quote, urlencode

from inferflow.api.http import Reply
from inferflow.api.operate import CONFIGS, RECORDINGS, Pages
from inferflow.errors import InvalidRequest, NotFound, Overloaded

AskAll = Callable[[str], Awaitable[Sequence[Reply | None]]]
"""Asks every process for a path, over its private HTTP; None for one that does not answer."""

_OK, _ABSENT = 200, 404
_RETRY_AFTER_MS = 1000


class GatheredPages:
    def __init__(self, ask_all: AskAll, own: Pages | None = None) -> None:
        """`own` knows how configs stand, where the processes that are asked do not."""
        self._ask_all = ask_all
        self._own = own

    async def recording(self, recording: str, item: str) -> str:
        query = f"?{urlencode({'item': item})}" if item else ""
        for reply in await self._replies(f"{RECORDINGS}/{quote(recording)}{query}"):
            if reply.status == _OK:
                return reply.body.decode()
            if reply.status != _ABSENT:
                field, _, what = reply.body.decode().strip().partition(": ")
                raise InvalidRequest(field, what)
        raise NotFound("recording", recording)

    async def recordings(self, last: int) -> str:
        found = []
        for reply in await self._replies(f"{RECORDINGS}?last={last}"):
            if reply.status == _OK:
                found += json.loads(reply.body)
        found.sort(key=lambda kept: kept["at_ms"], reverse=True)
        return json.dumps(found[:last] if last else found, ensure_ascii=False)

    async def configs(self, *, with_problems: bool) -> str:
        """Of the first that answers: all serve the same."""
        if self._own is not None:
            return await self._own.configs(with_problems=with_problems)
        for reply in await self._replies(CONFIGS):
            if reply.status == _OK:
                configs = json.loads(reply.body)
                for config in configs if not with_problems else ():
                    config.pop("problems", None)
                return json.dumps(configs, ensure_ascii=False)
        raise Overloaded(None, retry_after_ms=_RETRY_AFTER_MS)

    async def _replies(self, target: str) -> list[Reply]:
        return [reply for reply in await self._ask_all(target) if reply is not None]
