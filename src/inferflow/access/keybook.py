"""The API keys in memory: who is calling, answered without a database.

The book is replaced whole whenever the keys changed. A key that is unknown, wrong, expired or
revoked is refused with the same words and after the same work, so that nothing is learnt by trying.
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from inferflow.access.keys import KeyCard, KeyHasher, StoredKey, parse_key
from inferflow.errors import Unauthenticated

_NOBODY = bytes(32)


class KeyBook:
    """Every key there is. Reading it is safe while it is being replaced."""

    def __init__(self, hasher: KeyHasher, keys: Iterable[StoredKey] = ()) -> None:
        self._hasher = hasher
        self._keys: Mapping[str, StoredKey] = {}
        self.replace(keys)

    def replace(self, keys: Iterable[StoredKey]) -> None:
        self._keys = MappingProxyType({key.card.key_id: key for key in keys})

    def __len__(self) -> int:
        return len(self._keys)

    def card(self, key_id: str) -> KeyCard | None:
        found = self._keys.get(key_id)
        return found.card if found else None

    def cards(self) -> tuple[KeyCard, ...]:
        return tuple(key.card for key in self._keys.values())

    def authenticate(self, text: str, *, now_ms: int) -> KeyCard:
        """The card of the key that was presented. Raises Unauthenticated."""
        key_id, secret = parse_key(text)
        known = self._keys.get(key_id)
        presented = self._hasher.digest(key_id, secret)
        is_right = hmac.compare_digest(presented, known.digest if known else _NOBODY)
        if known is None or not is_right or not known.card.is_live(now_ms):
            raise Unauthenticated("this API key is unknown, expired or revoked")
        return known.card
