"""Who makes a call to a manager, and whether it may.

Answered in memory and before the message is read, by the same gate and the same rules as calls to
any other server.
"""

from __future__ import annotations

from typing import Any

from inferflow.access import OPERATOR, Gate, KeyCard, OpenGate
from inferflow.api.bearer import credentials_of, token_headers
from inferflow.api.rules import rule_of
from inferflow.serving.manager.keys import Keys


class RegistryKeys:
    """The keys of a manager's own registry; implements `access.KeySource`."""

    def __init__(self, keys: Keys) -> None:
        self._keys = keys

    async def identify(self, key: str) -> KeyCard:
        return self._keys.authenticate(key)

    async def close(self) -> None:
        """The registry is closed by the manager."""


class Door:
    def __init__(self, gate: Gate | OpenGate) -> None:
        self._gate = gate
        self.refusals = gate.refusals

    async def enter(self, method: str, context: Any) -> KeyCard:
        """Raises Unauthenticated, PermissionDenied or RateLimited."""
        gate, needs = self._gate, rule_of(method)
        if gate.is_open:
            return OPERATOR
        shown = credentials_of(
            context, token_headers(method), with_certificate=gate.reads_certificates
        )
        return await gate.admit(shown, needs=needs, counts=False)
