"""What a server needs to keep requests and to tell of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from inferflow.app.recordings.keeper import Keeper, Room
from inferflow.app.serve_settings import ServeSettings
from inferflow.app.setting_values import MIB

if TYPE_CHECKING:
    from inferflow.api.operate import Pages


@dataclass(frozen=True, slots=True)
class Records:
    keeper: Keeper
    pages: Pages
    """What this process can tell."""
    everywhere: Pages | None = None
    """What all processes can tell, where there are several: callers meet any of them."""


def open_keeper(settings: ServeSettings) -> Keeper:
    """Keeps as much as the settings allow."""
    return Keeper(
        Room(
            recorded_bytes=int(settings.recordings_mb * MIB),
            slow_s=settings.slow_request / 1000,
        )
    )
