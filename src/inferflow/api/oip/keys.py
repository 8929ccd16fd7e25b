"""Callers of a worker that belongs to no fleet: whoever an API key or a certificate is for.

Who calls, and whether it may make such a call at all, has been settled by the guard; here it is
asked about models, and each inference is counted.
"""

from __future__ import annotations

from inferflow.access import Gate, KeyCard, Permission
from inferflow.api.guard import admitted
from inferflow.api.oip.access import Metadata
from inferflow.errors import EngineFault


class KeyAccess:
    """Implements `oip.access.Access`."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate

    def identify(self, metadata: Metadata) -> KeyCaller:
        del metadata
        card = admitted()
        if card is None:
            raise EngineFault("a call came in that no guard has seen")
        return KeyCaller(card, self._gate)


class KeyCaller:
    version = ""
    """A key is for no version in particular."""

    def __init__(self, card: KeyCard, gate: Gate) -> None:
        self._card = card
        self._gate = gate

    @property
    def key_id(self) -> str:
        return self._card.key_id

    def check_inference(self, model: str, version: str) -> None:
        del version
        self._card.require_model(model)
        self._gate.count(self._card)

    def check_model(self, model: str) -> None:
        self._card.require_model(model)

    def check_administration(self) -> None:
        self._card.require(Permission.ADMIN)
