"""Which share of requests is treated specially: by who asks and the day, not by chance.

The same user is in or out all day, on every server, and the users change from day to day.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date

from inferflow.errors import MissingExtra


def daily_bucket(who: str, day: date) -> int:
    """A number from 0 to 99 that depends on who asks and the day alone."""
    try:
        import mmh3
    except ModuleNotFoundError as missing:
        raise MissingExtra("serve", for_what="choosing a share of requests") from missing
    key = f"{who}{day:%d%m%Y}".encode("utf-8", "surrogateescape")
    return abs(mmh3.hash(key, 0, signed=True)) % 100


def daily_share(percent: int, day: date) -> Callable[[str], bool] | None:
    """Says who belongs to so many percent of those who ask. None when nobody does."""
    if percent <= 0:
        return None
    if percent >= 100:
        return lambda _: True
    return lambda who: daily_bucket(who, day) < percent
