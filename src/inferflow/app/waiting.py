"""A role that cannot begin because its rows are out of reach: it waits, and says so.

Whoever starts processes would only start it again and again. Until the store answers, health over
HTTP says that it lives, that it is not ready, and why; calls are not taken yet.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextlib import closing, suppress
from typing import TypeVar

from inferflow.api.http import HttpServer, start_http
from inferflow.app import lifetime
from inferflow.app.health_routes import health_routes
from inferflow.app.security import open_security
from inferflow.app.settings import Settings
from inferflow.errors import StoreUnreachable
from inferflow.telemetry import open_logs

log = logging.getLogger(__name__)

T = TypeVar("T")

AGAIN_S = 1.0
"""Between two tries."""


def open_patiently(
    opening: Callable[[], T], settings: Settings, *, told: Callable[[HttpServer, str], None]
) -> T | None:
    """What `opening` returns, as soon as it no longer raises StoreUnreachable; None when this
    process is asked to end before that. `told` hears where health is answered meanwhile, and what
    is waited for."""
    try:
        return opening()
    except StoreUnreachable as away:
        why = str(away)
    with closing(open_logs(settings.telemetry.chosen())):  # each try has its own, and closes it
        log.warning("store_away", extra={"why": why})
    opened: list[T] = []
    lifetime.run(_wait(opening, settings, why, opened.append, told))
    return opened[0] if opened else None


async def _wait(
    opening: Callable[[], T],
    settings: Settings,
    why: str,
    found: Callable[[T], None],
    told: Callable[[HttpServer, str], None],
) -> None:
    serve = settings.serve
    security = open_security(settings, auth=serve.auth)
    http = await start_http(
        health_routes(lambda: why),
        host=serve.bind,
        port=serve.http_port,
        tls=security.http_context(),
    )
    try:
        with lifetime.stop_signals() as (end, _):
            told(http, why)
            while not await _is_set(end, AGAIN_S):
                try:
                    found(await asyncio.to_thread(opening))
                except StoreUnreachable as still:
                    why = str(still)
                else:
                    log.warning("store_back")
                    return
    finally:
        await http.close()


async def _is_set(event: asyncio.Event, within_s: float) -> bool:
    with suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), within_s)
    return event.is_set()
