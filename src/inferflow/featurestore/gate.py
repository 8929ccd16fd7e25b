"""Many may be inside, or one alone: readers of a map, and whoever replaces it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Counts the threads inside. `alone` keeps newcomers out and waits until the others left.

    A thread that is inside may enter again, whoever waits. It may also ask to be alone and
    stay inside, as long as it is the only one inside that does: two would wait for each other.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        # Taken as `_lock` below: the condition's own `with` is Python code on the hot path.
        self._changed = threading.Condition(self._lock)
        self._inside = 0
        self._is_taken = False
        self._own = threading.local()

    def enter(self) -> None:
        own = self._own
        try:
            own.depth += 1
        except AttributeError:  # the first time in this thread
            own.depth = 1
        if own.depth > 1:
            return
        with self._lock:
            while self._is_taken:
                self._changed.wait()
            self._inside += 1

    def leave(self) -> None:
        own = self._own
        own.depth -= 1
        if own.depth:
            return
        with self._lock:
            self._inside -= 1
            if self._is_taken:
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        own = 1 if self._depth else 0
        with self._lock:
            # Who is inside does not wait for its turn: whoever has it waits for them to leave.
            while self._is_taken and not own:
                self._changed.wait()
            was_taken, self._is_taken = self._is_taken, True
            while self._inside > own:
                self._changed.wait()
        try:
            yield
        finally:
            with self._lock:
                self._is_taken = was_taken
                self._changed.notify_all()

    @property
    def _depth(self) -> int:
        return getattr(self._own, "depth", 0)
