"""What remote models were found to take, remembered and asked again.

A model that could not be asked is asked again after a pause that doubles up to a minute; one
that answered, every minute, for servers change their models. What was known stays known while
its server is away. A server that does not answer is not asked for its other models right after.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from inferflow.client.oip.metadata import Known, RemoteSignature
from inferflow.engine.deadline import Clock
from inferflow.plan.catalog import Endpoint, UnknownSignature

FIRST_PAUSE_S, LONGEST_PAUSE_S = 1.0, 60.0

Key = tuple[str, str, str]
Mark = tuple[tuple[Key, str], ...]


@dataclass(slots=True)
class _Entry:
    known: Known
    again_at: float
    misses: int = 0


class Signatures:
    """Safe for several threads; they wait for each other."""

    def __init__(self, ask: Callable[[Endpoint], Known], *, clock: Clock) -> None:
        self._ask = ask
        self._clock = clock
        self._lock = threading.Lock()
        self._entries: dict[Key, _Entry] = {}
        self._silent: dict[str, tuple[float, UnknownSignature]] = {}

    def get(self, endpoint: Endpoint) -> Known:
        """What is known; asks when nothing is, or when it is time."""
        with self._lock:
            return self._get(endpoint)

    def learn(self, endpoint: Endpoint, known: RemoteSignature) -> None:
        """Take what somebody else was told."""
        with self._lock:
            self._entries[_key(endpoint)] = _Entry(known, self._clock() + LONGEST_PAUSE_S)

    def recheck(self, endpoints: Iterable[Endpoint]) -> Mark:
        """Ask for those it is time for, and forget all others. The mark is equal to an earlier
        one when nothing is known now that was not known then."""
        with self._lock:
            wanted = {_key(endpoint): endpoint for endpoint in endpoints}
            self._entries = {key: it for key, it in self._entries.items() if key in wanted}
            return tuple(
                (key, _digest(self._get(endpoint))) for key, endpoint in sorted(wanted.items())
            )

    def _get(self, endpoint: Endpoint) -> Known:
        key, now = _key(endpoint), self._clock()
        entry = self._entries.get(key)
        if entry is not None and now < entry.again_at:
            return entry.known
        found = self._asked(endpoint, now)
        if isinstance(found, RemoteSignature):
            self._entries[key] = _Entry(found, now + LONGEST_PAUSE_S)
            return found
        misses = 1 if entry is None else entry.misses + 1
        pause_s = min(FIRST_PAUSE_S * 2.0 ** min(misses - 1, 16), LONGEST_PAUSE_S)
        if isinstance(found, UnknownSignature) and entry is not None and _is_known(entry):
            found = entry.known
        self._entries[key] = _Entry(found, now + pause_s, misses)
        return found

    def _asked(self, endpoint: Endpoint, now: float) -> Known:
        until, why = self._silent.get(endpoint.address or "", (now, None))
        if why is not None and now < until:
            return why
        found = self._ask(endpoint)
        if isinstance(found, UnknownSignature) and found.is_silent:
            self._silent[endpoint.address or ""] = (self._clock() + FIRST_PAUSE_S / 2, found)
        else:
            self._silent.pop(endpoint.address or "", None)
        return found


def _is_known(entry: _Entry) -> bool:
    return isinstance(entry.known, RemoteSignature)


def _key(endpoint: Endpoint) -> Key:
    return endpoint.address or "", endpoint.model, endpoint.version or ""


def _digest(known: Known) -> str:
    if isinstance(known, RemoteSignature):
        return known.signature.digest
    return "" if known is None else "unknown"
