"""Callers that show a name and a token, as clients of the original do.

Tokens are kept as digests, and compared in a time that tells nothing about them. The book is
replaced whole when callers change.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field

from inferflow.access.keys import KeyCard
from inferflow.errors import Unauthenticated

_NOBODY = (bytes(32),)


@dataclass(frozen=True, slots=True)
class NamedCaller:
    card: KeyCard
    digests: tuple[bytes, ...] = field(repr=False)
    """Of its tokens; two while one replaces the other."""


def token_digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


class CallerBook:
    """Every caller there is, by its name."""

    def __init__(self, known: Mapping[str, NamedCaller] | None = None) -> None:
        self._known: Mapping[str, NamedCaller] = {}
        self.replace(known or {})

    def replace(self, known: Mapping[str, NamedCaller]) -> None:
        self._known = dict(known)

    def __len__(self) -> int:
        return len(self._known)

    def authenticate(self, name: str, token: str) -> KeyCard:
        """Raises Unauthenticated, with the same words whatever is wrong."""
        caller = self._known.get(name)
        shown = token_digest(token)
        kept = caller.digests if caller else _NOBODY
        is_right = sum(hmac.compare_digest(shown, each) for each in kept) > 0  # all are compared
        if caller is None or not is_right:
            raise Unauthenticated("this caller is unknown, or its token is wrong")
        return caller.card
