"""The root of all errors, and who has to act."""

from __future__ import annotations

import enum


class Fault(enum.Enum):
    """Who has to act."""

    CALLER = "caller"
    """Fix the request, the config or the file."""
    ABSENT = "absent"
    """The named thing is not here."""
    BUSY = "busy"
    """The same call may succeed elsewhere or later."""
    LATE = "late"
    """The deadline passed first."""
    OURS = "ours"
    """A bug, or a dependency that broke its promise."""


class InferflowError(Exception):
    """The root of everything Inferflow raises on purpose."""

    fault = Fault.OURS
    recording = ""
    """Under which id a server keeps what happened, when it was asked to."""
