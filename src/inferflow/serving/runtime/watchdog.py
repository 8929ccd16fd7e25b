"""Stops what outlives its deadline.

One thread looks after every run. Arming and disarming are a dictionary entry each; the
thread is told only about a deadline earlier than the one it already waits for, so a steady
stream of requests wakes it about once per time budget, not once per request.
"""

from __future__ import annotations

import itertools
import math
import threading
from collections.abc import Callable
from time import monotonic

Stop = Callable[[], object]
"""Asks a piece of work to end. Called from the watchdog's thread, at most once, and possibly
just after the work has ended by itself: it must do no harm then."""


class Watchdog:
    """Calls a `Stop` when its time is up, unless it was disarmed before."""

    def __init__(self) -> None:
        self._armed: dict[int, tuple[float, Stop]] = {}
        self._keys = itertools.count()
        self._wakes_at = math.inf
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def arm(self, seconds: float, stop: Stop) -> int:
        """Call `stop` in so many seconds. Returns what `disarm` takes."""
        key = next(self._keys)
        at = monotonic() + seconds
        # The entry goes in before `_wakes_at` is read, and the thread raises `_wakes_at`
        # before it reads the entries: one of the two always sees the other.
        self._armed[key] = (at, stop)
        if at < self._wakes_at:
            self._wake_by(at)
        return key

    def disarm(self, key: int) -> bool:
        """True when its `Stop` was not called, and will not be."""
        return self._armed.pop(key, None) is not None

    def stop_all(self) -> None:
        """Stop everything armed, whatever time it has left."""
        for key, (_, stop) in list(self._armed.items()):
            if self._armed.pop(key, None) is not None:
                stop()

    def close(self) -> None:
        """End the thread. Nothing armed is stopped any more."""
        with self._changed:
            self._closed = True
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join()

    def _wake_by(self, at: float) -> None:
        with self._changed:
            if self._closed:
                return
            self._wakes_at = min(self._wakes_at, at)
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._watch, name="inferflow-watchdog", daemon=True
                )
                self._thread.start()
            self._changed.notify()

    def _watch(self) -> None:
        with self._changed:
            while not self._closed:
                left = self._wakes_at - monotonic()
                if left > 0:
                    self._changed.wait(None if left == math.inf else left)
                else:
                    self._look()

    def _look(self) -> None:
        self._wakes_at = math.inf
        now, nearest = monotonic(), math.inf
        for key, (at, stop) in list(self._armed.items()):
            if at > now:
                nearest = min(nearest, at)
            elif self._armed.pop(key, None) is not None:
                stop()
        self._wakes_at = min(self._wakes_at, nearest)
