"""What became of every message: delivered, dropped or expired, and nothing else.

`produced` is their sum as soon as nothing is under way any more. Whoever watches is told as it
happens; `why` is one of the words below.
"""

from __future__ import annotations

import threading
from collections import Counter

from inferflow.engine.observer import Observer

FULL = "queue_full"
"""There was no room for another one."""
EXPIRED = "expired"
"""It could not be delivered before it was too old, or before the process had to end."""
REFUSED = "refused"
"""The brokers, or the file system, would not have it."""
UNWRITABLE = "encoding_error"
"""It could not be put into words; a bug."""

DROPPED = (FULL, REFUSED, UNWRITABLE)


class LogCounts:
    """For any number of threads."""

    def __init__(self, observer: Observer | None = None) -> None:
        self.observer = observer or Observer()
        """Who is told."""
        self._lock = threading.Lock()
        self._produced = 0
        self._delivered = 0
        self._lost: Counter[str] = Counter()

    def produced(self, messages: int) -> None:
        with self._lock:
            self._produced += messages

    def delivered(self, config_id: str, messages: int) -> None:
        with self._lock:
            self._delivered += messages
        self.observer.logs_sent(config_id, messages)

    def lost(self, config_id: str, why: str, messages: int) -> None:
        with self._lock:
            self._lost[why] += messages
        self.observer.logs_failed(config_id, why, messages)

    def snapshot(self) -> dict[str, int]:
        with self._lock:
            return {
                "produced": self._produced,
                "delivered": self._delivered,
                "dropped": sum(self._lost[why] for why in DROPPED),
                "expired": self._lost[EXPIRED],
            }
