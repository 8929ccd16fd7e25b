"""Whose key it is that came with a call, and whether it is good for that call.

Answered in memory and before the message is read. Whoever tries many wrong keys is slowed down.
"""

from __future__ import annotations

from typing import Any

from inferflow.access import OPERATOR, Guesses, KeyCard
from inferflow.api.bearer import bearer
from inferflow.api.insight import peer_host
from inferflow.api.manager.rules import check_rule
from inferflow.errors import Unauthenticated
from inferflow.serving.manager.keys import Keys


class Door:
    def __init__(self, keys: Keys, guesses: Guesses, *, is_open: bool = False) -> None:
        """`is_open` lets everybody do everything, as the one who runs the manager."""
        self._keys = keys
        self._guesses = guesses
        self._is_open = is_open

    def enter(self, method: str, context: Any) -> KeyCard:
        """Raises Unauthenticated, PermissionDenied or RateLimited."""
        if self._is_open:
            return OPERATOR
        text = bearer(context.invocation_metadata(), what="an API key")
        card = self._identified(text, peer_host(context.peer()))
        check_rule(method, card)
        return card

    def _identified(self, text: str, source: str) -> KeyCard:
        self._guesses.check(source)
        try:
            card = self._keys.authenticate(text)
        except Unauthenticated:
            self._guesses.was_wrong(source)
            raise
        self._guesses.was_right(source)
        return card
