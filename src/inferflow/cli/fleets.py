"""Asking a fleet's manager: which one, with which key, and how times are shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from inferflow.cli.projects import HERE
from inferflow.errors import MissingExtra

if TYPE_CHECKING:
    from inferflow.client.manager.admin import FleetAdmin

Manager = Annotated[
    str | None,
    typer.Option(
        "--manager",
        metavar="HOST:PORT",
        help="The fleet's manager; several with commas.  [INFERFLOW_MANAGER]",
    ),
]
Key = Annotated[
    str | None, typer.Option("--key", metavar="KEY", help="An API key.  [INFERFLOW_API_KEY]")
]


def administrating(manager: str | None, key: str | None) -> FleetAdmin:
    """The managers that are named, else those of the settings."""
    from inferflow.app.settings import read_settings
    from inferflow.app.tls import channel_tls

    try:
        from inferflow.client.manager.admin import FleetAdmin
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what="calls to a manager") from missing
    settings = read_settings(HERE)
    fleet = settings.fleet
    tls = channel_tls(settings.tls, plain_text=fleet.plain_text)
    managers = fleet.manager if manager is None else tuple(manager.split(","))
    shown = fleet.api_key.get_secret_value() if key is None else key
    return FleetAdmin(managers, shown, tls=tls)


def when(at_ms: int) -> str | None:
    """A time as people read it; nothing for one that never was."""
    if not at_ms:
        return None
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%SZ")
