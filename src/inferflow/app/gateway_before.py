"""A gateway before a project that this process serves, alone or as the parent of several."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from inferflow.api.operate import Pages
from inferflow.app.processes.parent import Parent
from inferflow.app.role import Role
from inferflow.app.serving import Serving
from inferflow.app.setting_values import reached
from inferflow.errors import MissingExtra
from inferflow.telemetry.between import Look, look_at, look_over

if TYPE_CHECKING:
    from inferflow.app.local_fleet import LocalFleet

Told = Callable[[str, str], None]
"""Hears where the gateway answers, or an empty text and why there is none."""


@asynccontextmanager
async def gateway_before(
    role: Role, serving: Serving | Parent, *, told: Told, fleet: LocalFleet | None = None
) -> AsyncIterator[None]:
    """A gateway before a project that is served, unless the settings want none."""
    settings = role.settings
    if not settings.gateway.enabled:
        yield
        return
    try:
        from inferflow.app.backoffice.office import office_beside
        from inferflow.app.gateway import Behind, gateway_beside
    except ModuleNotFoundError:
        told("", str(MissingExtra("gateway", for_what="HTTP and the web pages")))
        yield
        return
    port, pages, look_around = _seen(role, serving)
    async with office_beside(role, fleet, pages, look_around) as office:
        behind = Behind(
            target=reached(serving.settings.bind, port),
            models=f"manager://{fleet.address}" if fleet is not None else "",
            models_key=fleet.key if fleet is not None else "",
            office=office,
        )
        async with gateway_beside(settings, behind) as gateway:
            told(gateway.url, "")
            try:
                yield
            finally:
                await office.let_go()


def _seen(role: Role, serving: Serving | Parent) -> tuple[int, Pages, Callable[[], Look]]:
    """Where it is asked, and what it tells of itself."""
    if isinstance(serving, Parent):
        return serving.port, serving.pages, lambda: look_at(serving.look_around())
    pages = role.records.everywhere or role.records.pages
    return serving.grpc.port, pages, lambda: look_over(role.telemetry.collect())
