"""Calls that are not even sent, because the server would hardly take them.

Refusing a call costs a server a good part of what answering it does. So a client whose calls are
mostly refused keeps some of them to itself: with so many `requests` in the last seconds, of which
the server took so many `accepts`, the next is kept with a chance of

    (requests - multiple * accepts) / (requests + 1)

and what arrives is about `multiple` times what the server takes, however much is asked for. Calls
that were kept are counted as requests, those under way not yet. What other failures there are says
nothing about load and counts as taken. As the window is short, it is over soon after the load is.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable

from inferflow.engine.deadline import Clock
from inferflow.errors import InvalidInput, Overloaded

WINDOW_S = 2.0
_SLICES = 10
_FEWEST = 10
"""Fewer requests in a window say nothing."""


class Throttle:
    """For one thread. Without a `multiple`, everything is sent."""

    def __init__(
        self,
        multiple: float | None,
        *,
        clock: Clock = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        if multiple is not None and not multiple >= 1:
            raise InvalidInput(f"throttle={multiple!r}: a number from 1 on is wanted, or None")
        self._multiple = multiple
        self._clock = clock
        self._chance = chance
        self._slices: deque[list[float]] = deque()
        """When each began, its requests and its accepts."""
        self._requests = self._accepts = 0.0
        self._retry_after_ms = 0

    def check(self) -> None:
        """To be asked before a call is sent. Raises Overloaded when it had better not be."""
        if self._multiple is None or self._requests <= self._multiple * self._accepts:
            return
        self._forget()
        surplus = self._requests - self._multiple * self._accepts
        if self._requests < _FEWEST or self._chance() >= surplus / (self._requests + 1):
            return
        self._note(0)
        raise Overloaded(None, retry_after_ms=self._retry_after_ms, is_local=True)

    def ended(self, no_place_ms: int | None = None) -> None:
        """A call that was sent is over. The server took it, whatever came of it, unless it had no
        place and said when to come back."""
        if no_place_ms is not None:
            self._retry_after_ms = no_place_ms
        self._note(int(no_place_ms is None))

    def _note(self, accepts: int) -> None:
        now = self._clock()
        if not self._slices or now - self._slices[-1][0] >= WINDOW_S / _SLICES:
            self._forget()
            self._slices.append([now, 0.0, 0.0])
        latest = self._slices[-1]
        latest[1] += 1
        latest[2] += accepts
        self._requests += 1
        self._accepts += accepts

    def _forget(self) -> None:
        oldest = self._clock() - WINDOW_S
        while self._slices and self._slices[0][0] < oldest:
            _, requests, accepts = self._slices.popleft()
            self._requests -= requests
            self._accepts -= accepts
