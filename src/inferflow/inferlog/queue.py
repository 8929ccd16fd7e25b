"""Requests that wait to be logged: bounded in number and bytes; when it is full, new ones stay out.

Putting one in is a few hundred nanoseconds and wakes nobody who is already at work, for it is done
on the request's own path.
"""

from __future__ import annotations

import threading
from collections import deque

from inferflow.inferlog.taken import Taken

MANY = 256
"""So many are worth getting up for."""


class LogQueue:
    """Any number of threads put in, one takes out."""

    def __init__(self, *, most: int, most_bytes: int) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._items: deque[Taken] = deque()
        self._bytes = 0
        self._lock = threading.Lock()
        self._filled = threading.Event()
        self._pressing = threading.Event()

    def offer(self, taken: Taken) -> bool:
        """False when there is no room."""
        with self._lock:
            if len(self._items) >= self._most or self._bytes + taken.size > self._most_bytes:
                return False
            self._items.append(taken)
            self._bytes += taken.size
            presses = len(self._items) >= MANY or 2 * self._bytes > self._most_bytes
        if not self._filled.is_set():
            self._filled.set()
        if presses and not self._pressing.is_set():
            self._pressing.set()
        return True

    def wait(self, timeout_s: float) -> bool:
        """Until there is something, at most so long."""
        return self._filled.wait(timeout_s)

    def linger(self, timeout_s: float) -> bool:
        """Until there are many, or little room is left: then True. At most so long."""
        return self._pressing.wait(timeout_s)

    def wake(self) -> None:
        self._filled.set()
        self._pressing.set()

    def take(self) -> Taken | None:
        """The oldest; None when there is none."""
        with self._lock:
            if not self._items:
                self._filled.clear()
                self._pressing.clear()
                return None
            taken = self._items.popleft()
            self._bytes -= taken.size
            return taken
