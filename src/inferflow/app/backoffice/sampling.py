"""One look at everything that is shown live: metrics, configs, workers, changes.

Each source is asked by itself and may be away: then what it has to say is missing, which is
logged once, and again when it is back.
"""

from __future__ import annotations

import asyncio
import logging
import ssl
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from inferflow.app.backoffice.fleet import ManagedFleet
from inferflow.app.backoffice.happenings import Happenings
from inferflow.app.backoffice.pages import ServerPages
from inferflow.errors import InferflowError, Unreachable
from inferflow.rpc.tls_http import HttpsContexts
from inferflow.telemetry.between import Look, between, look_at
from inferflow.telemetry.merging import merge

log = logging.getLogger("inferflow.gateway.live")

Facts = dict[str, Any]
LookAround = Callable[[], Look]
"""The metrics as they are now; in a thread, for it may wait."""
T = TypeVar("T")

_PATIENCE_S = 2.0
_AUDITED = 50
_MOST_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Sample:
    metrics: Facts
    events: list[Facts] = field(default_factory=list)


class Sampler:
    """Made for one event loop; one look at a time."""

    def __init__(
        self,
        look_around: LookAround,
        servers: ServerPages | None = None,
        fleet: ManagedFleet | None = None,
        *,
        clock: Callable[[], float],
        now: Callable[[], float],
    ) -> None:
        self._look_around = look_around
        self._servers = servers
        self._fleet = fleet if fleet is not None and fleet.own_key else None
        self._clock = clock
        self._now = now
        self._happenings = Happenings()
        self._before: tuple[float, Look] | None = None
        self._away: set[str] = set()

    async def look(self) -> Sample:
        """What happened since the last look; nothing at the first."""
        at_ms = int(self._now() * 1000)
        numbers, events = await self._numbers(), list[Facts]()
        metrics: Facts = {"type": "metrics", "at_ms": at_ms, **numbers}
        if self._servers is not None:
            statuses = await self._tried("configs", self._servers.configs())
            if statuses is not None:
                events += self._happenings.configs(statuses, at_ms)
        if self._fleet is not None:
            workers = await self._tried("workers", self._fleet.workers(""))
            if workers is not None:
                metrics["workers"] = workers
                events += self._happenings.workers(workers, at_ms)
                entries = await self._tried("audit", self._fleet.audit("", _AUDITED))
                if entries is not None:
                    events += self._happenings.audit(entries)
        return Sample(metrics, events)

    async def _numbers(self) -> Facts:
        look = await self._tried("metrics", asyncio.to_thread(self._look_around))
        if look is None:  # and what is counted meanwhile shows at the next look that succeeds
            return between(Look(), Look(), 1.0)
        at = self._clock()
        before, self._before = self._before, (at, look)
        if before is None or at <= before[0]:
            return between(look, look, 1.0)
        return between(before[1], look, at - before[0])

    async def _tried(self, name: str, asking: Awaitable[T]) -> T | None:
        try:
            found = await asking
        except InferflowError as failed:
            if name not in self._away:
                self._away.add(name)
                log.warning("live_source_away", extra={"source": name, "error": str(failed)})
            return None
        if name in self._away:
            self._away.discard(name)
            log.info("live_source_back", extra={"source": name})
        return found


def pages_at(urls: Sequence[str], https: HttpsContexts | None = None) -> LookAround:
    """The metrics of several servers as one's. Raises Unreachable when any is away, for what is
    left would look like a drop."""

    def look() -> Look:
        context = None if https is None else https.current()
        pages = [_fetched(url, context) for url in urls]
        return look_at(pages[0] if len(pages) == 1 else merge(pages))

    return look


def _fetched(url: str, context: ssl.SSLContext | None) -> bytes:
    try:
        with urllib.request.urlopen(url, timeout=_PATIENCE_S, context=context) as answer:
            page: bytes = answer.read(_MOST_BYTES)
            return page
    except (urllib.error.URLError, OSError, ValueError) as failed:
        raise Unreachable(url, 1, str(failed)) from failed
