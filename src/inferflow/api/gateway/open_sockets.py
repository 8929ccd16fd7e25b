"""How many WebSockets are open, in all and by caller.

A caller is its key; its address while no key is known, and where nobody is asked for one. So
whoever opens very many without a key takes places from nobody but itself.
"""

from __future__ import annotations

from collections import Counter

from inferflow.errors import TooManySockets

_IN_ALL, _EACH = "gateway.max_sockets", "gateway.max_sockets_per_key"


class OpenSockets:
    """Counts; belongs to one event loop."""

    def __init__(self, most: int, most_each: int) -> None:
        self._most = most
        self._most_each = most_each
        self._by_caller: Counter[str] = Counter()

    def __len__(self) -> int:
        return self._by_caller.total()

    def enter(self, source: str) -> Seat:
        """A place for one more from this address. Raises TooManySockets."""
        if len(self) >= self._most:
            raise TooManySockets("this gateway", self._most, _IN_ALL)
        self._take(source, source or "this address")
        return Seat(self, source)

    def move(self, old: str, new: str) -> None:
        """Raises TooManySockets, and nothing is moved then."""
        self._take(new, f"key {new!r}")
        self.leave(old)

    def leave(self, who: str) -> None:
        self._by_caller[who] -= 1
        if not self._by_caller[who]:
            del self._by_caller[who]

    def _take(self, who: str, name: str) -> None:
        if self._by_caller[who] >= self._most_each:
            raise TooManySockets(name, self._most_each, _EACH)
        self._by_caller[who] += 1


class Seat:
    """One open socket's place."""

    def __init__(self, places: OpenSockets, who: str) -> None:
        self._places = places
        self._who = who

    def belongs_to(self, key_id: str | None) -> None:
        """From now on it counts for a key, where there is one. Raises TooManySockets."""
        if key_id is not None and key_id != self._who:
            self._places.move(self._who, key_id)
            self._who = key_id

    def leave(self) -> None:
        self._places.leave(self._who)
