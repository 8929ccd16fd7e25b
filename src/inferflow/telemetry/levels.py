"""Log levels by the names people write, trace to error; `fatal` and `disabled` from elsewhere."""

from __future__ import annotations

import logging

from inferflow.errors import InvalidInput

TRACE = 5
"""Below debug: more than one line per request."""

_DISABLED = logging.CRITICAL + 10

LEVELS = {
    "trace": TRACE,
    "debug": logging.DEBUG,
    "info": logging.INFO,
    "warn": logging.WARNING,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "fatal": logging.CRITICAL,
    "panic": logging.CRITICAL,
    "disabled": _DISABLED,
}


def level_number(name: str) -> int:
    """The number `logging` knows a level by. Raises InvalidInput for a name nobody uses."""
    number = LEVELS.get(name.strip().lower())
    if number is None:
        raise InvalidInput(f"log level {name!r}: must be one of {', '.join(LEVELS)}")
    return number
