"""Many may be inside, or one alone: readers of a map, and whoever replaces it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Gate:
    """Counts who is inside. `alone` waits until nobody is and keeps others out meanwhile.

    A thread that is inside may enter again, and is then not kept out by someone who waits for
    it to leave.
    """

    def __init__(self) -> None:
        self._changed = threading.Condition(threading.Lock())
        self._inside = 0
        self._is_taken = False
        self._own = threading.local()

    def enter(self) -> None:
        depth = getattr(self._own, "depth", 0)
        self._own.depth = depth + 1
        if depth:
            return
        with self._changed:
            while self._is_taken:
                self._changed.wait()
            self._inside += 1

    def leave(self) -> None:
        self._own.depth -= 1
        if self._own.depth:
            return
        with self._changed:
            self._inside -= 1
            if self._is_taken and not self._inside:
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """The caller must not be inside."""
        with self._changed:
            while self._is_taken:
                self._changed.wait()
            self._is_taken = True
            while self._inside:
                self._changed.wait()
        try:
            yield
        finally:
            with self._changed:
                self._is_taken = False
                self._changed.notify_all()
