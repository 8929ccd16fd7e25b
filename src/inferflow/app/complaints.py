"""Says that something failed, and not at every try that it still does.

What is tried every second and cannot succeed (a look at a project on a disk that is full) would
otherwise fill a log with one sentence. The same words are said again once a minute; other words,
and the same ones after a success, are said at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable

AGAIN_S = 60.0


class Complaints:
    """Called by one thread."""

    def __init__(
        self, tell: Callable[[Exception], None], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._tell = tell
        self._clock = clock
        self._said = ""
        self._said_at = 0.0

    def failed(self, error: Exception) -> None:
        words, now = f"{type(error).__name__}: {error}", self._clock()
        if words != self._said or now - self._said_at >= AGAIN_S:
            self._said, self._said_at = words, now
            self._tell(error)

    def succeeded(self) -> None:
        self._said = ""
