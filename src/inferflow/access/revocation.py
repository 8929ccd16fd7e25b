"""Keys and tokens that are no longer accepted.

The list comes whole with a manager's orders and replaces the one before it. It stays short: the
manager lists a key or token only for as long as a token of it could still be valid.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Revocations:
    key_ids: frozenset[str] = frozenset()
    token_ids: frozenset[str] = frozenset()

    def names(self, *, key_id: str, token_id: str) -> bool:
        """Whether a token of this id, made for this key, must be refused."""
        return key_id in self.key_ids or token_id in self.token_ids
