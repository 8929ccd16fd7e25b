"""All of a project in one process and on one event loop: its configs, a gateway before them, and a
fleet that serves its models.

The fleet is there before the project is loaded, for its configs may name it, and ends after the
last call to the project.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

from inferflow.app.gateway_before import Told, gateway_before
from inferflow.app.loading import Progress
from inferflow.app.local_fleet import LocalFleet, start_local_fleet
from inferflow.app.role import open_role
from inferflow.app.serving import Serving, serve_role
from inferflow.app.setting_values import Secret
from inferflow.app.settings import Settings
from inferflow.errors import InvalidInput
from inferflow.rpc.server import is_loopback


async def serve_with_fleet(
    root: Path,
    settings: Settings,
    overrides: Mapping[str, Any],
    *,
    progress: Progress | None,
    begun: Callable[[LocalFleet], None],
    started: Callable[[Serving], None],
    told: Told,
) -> None:
    """Run a fleet and serve the project until asked to end. `begun` is told when the fleet is
    ready, `started` when all is.

    What the project calls its own fleet with is a key of this run, unless the settings have one.
    Where callers must be known, keys of the fleet are good for the project too.
    """
    if settings.serve.processes > 1:
        raise InvalidInput(
            "fleet.enabled: a fleet runs inside one process; for several, run `inferflow manager`"
            " and `inferflow worker` beside it"
        )
    fleet = await start_local_fleet(root, settings, progress)
    try:
        begun(fleet)
        overrides = {**overrides, **beside_fleet(settings, fleet.address, fleet.key)}
        with ExitStack() as held:
            # Loading asks the manager, which answers on this loop meanwhile.
            opening = open_role(root, overrides, progress=progress)
            role = await asyncio.to_thread(held.enter_context, opening)
            closing = held.pop_all()
            try:
                beside = partial(gateway_before, role, told=told, fleet=fleet)
                await serve_role(role, started=started, beside=beside)
            finally:
                await asyncio.to_thread(closing.close)
    finally:
        await fleet.close()


def beside_fleet(settings: Settings, address: str, key: str) -> dict[str, Any]:
    """Settings of a project that has a fleet of its own: how it calls it, and that the fleet's
    keys are good here as soon as callers are asked who they are."""
    own: dict[str, Any] = {}
    if not settings.fleet.api_key.get_secret_value():
        own["api_key"] = Secret(key)
    must_know = not settings.auth.is_empty or not (
        is_loopback(settings.serve.bind) and is_loopback(settings.gateway.bind)
    )
    if settings.auth.manager or not must_know:
        return {"fleet": settings.fleet.model_copy(update=own)}
    own["manager"] = (address,)
    return {
        "fleet": settings.fleet.model_copy(update=own),
        "auth": settings.auth.model_copy(update={"manager": True}),
    }
