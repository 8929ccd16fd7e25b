"""Whether a server that answers nobody is still asked.

After a few calls in a row that met no answer, calls fail at once, so that nobody waits for what
will not come. One a second is let through to find out; the first answer ends it. A failure is an
answer too: only silence counts.
"""

from __future__ import annotations

import logging

from inferflow.engine.deadline import Clock

log = logging.getLogger(__name__)

SILENT_CALLS = 5
SILENT_S = 0.25
"""For how long nobody must have been answered: calls that were under way together when a
connection broke are one misfortune and not several."""
PROBE_S = 1.0


class Breaker:
    """For one thread."""

    def __init__(self, address: str, *, clock: Clock) -> None:
        self.why = ""
        """What the last call met, while it is open."""
        self._address = address
        self._clock = clock
        self._silent = 0
        self._since = 0.0
        self._probe_at = 0.0
        self._is_open = False

    def lets_through(self) -> bool:
        if not self._is_open:
            return True
        now = self._clock()
        if now < self._probe_at:
            return False
        self._probe_at = now + PROBE_S
        return True

    def answered(self) -> None:
        self._silent = 0
        if self._is_open:
            self._is_open = False
            log.info("server_back", extra={"address": self._address})

    def silent(self, why: str) -> None:
        """Another call met no answer."""
        now = self._clock()
        self.why = why
        if not self._silent:
            self._since = now
        self._silent += 1
        if self._is_open or self._silent < SILENT_CALLS or now - self._since < SILENT_S:
            return
        self._is_open, self._probe_at = True, now + PROBE_S
        log.warning("server_silent", extra={"address": self._address, "why": why})
