"""Callers that never stop asking a server, and what they got."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import inferflow

BOOKS = {"user": "ada", "book": ["1", "2", "3"]}
"""What the starter project is asked for."""


class Load:
    def __init__(
        self, port: int, *, callers: int = 4, deadline_ms: float = 3_000, **asked: Any
    ) -> None:
        self._stop = threading.Event()
        self._address = f"127.0.0.1:{port}"
        self._deadline_ms = deadline_ms
        self._asked = asked or {"entities": BOOKS}
        self.clean = self.marked = 0
        """Answers without and with marked rows."""
        self.failures: list[str] = []
        self.errors: set[str] = set()
        """What marks say."""
        self.took_s: list[float] = []
        """Of every answer since this was last emptied."""
        self._threads = [threading.Thread(target=self._ask) for _ in range(callers)]
        for thread in self._threads:
            thread.start()

    def _ask(self) -> None:
        with inferflow.connect(self._address, deadline_ms=self._deadline_ms) as client:
            while not self._stop.is_set():
                began = time.monotonic()
                try:
                    found = client.score("ranker", **self._asked)
                except Exception as failed:
                    self.failures.append(repr(failed))
                    continue
                self.took_s.append(time.monotonic() - began)
                if any(found.targets.errors):
                    self.errors.update(filter(None, found.targets.errors))
                    self.marked += 1
                else:
                    self.clean += 1

    @property
    def answers(self) -> int:
        return self.clean + self.marked

    @property
    def slowest_s(self) -> float:
        return max(self.took_s, default=0.0)

    def median_ms(self) -> float:
        ordered = sorted(self.took_s)
        return ordered[len(ordered) // 2] * 1000

    def wait_for(self, what: str, more: int = 20) -> float:
        """Until so many more are `clean`, `marked` or `answers`; how many seconds that took."""
        began, wanted = time.monotonic(), getattr(self, what) + more
        eventually(lambda: getattr(self, what) >= wanted)
        return time.monotonic() - began

    def end(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()


def eventually(holds: Callable[[], Any], within_s: float = 60) -> None:
    limit = time.monotonic() + within_s
    while not holds():
        assert time.monotonic() < limit, "it did not come true"
        time.sleep(0.02)
