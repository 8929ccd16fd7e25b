"""Secrets at rest, readable only with the manager's own secret.

What is sealed is bound to a name: a sealed value that was moved to another row does not open.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable

from inferflow.errors import MissingExtra, RegistryFailed

_NONCE_BYTES = 12


class Sealer:
    """Seals and opens with a key derived from a secret."""

    def __init__(self, secret: bytes) -> None:
        try:
            from cryptography.hazmat.primitives.ciphers.aead import AESGCM
        except ModuleNotFoundError as missing:
            raise MissingExtra("manager", for_what="keeping signing keys") from missing
        self._cipher = AESGCM(hmac.digest(secret, b"inferflow sealing v1", "sha256"))

    def seal(self, name: str, value: bytes, random_bytes: Callable[[int], bytes]) -> bytes:
        nonce = random_bytes(_NONCE_BYTES)
        return nonce + self._cipher.encrypt(nonce, value, name.encode())

    def open(self, name: str, sealed: bytes) -> bytes:
        """The value sealed under this name. Raises RegistryFailed for any other bytes."""
        from cryptography.exceptions import InvalidTag

        nonce, rest = sealed[:_NONCE_BYTES], sealed[_NONCE_BYTES:]
        try:
            return self._cipher.decrypt(nonce, rest, name.encode())
        except (InvalidTag, ValueError) as failed:
            raise RegistryFailed(
                f"{name!r} was sealed with another secret, or is damaged"
            ) from failed
