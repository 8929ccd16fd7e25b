"""Ed25519 keys for session tokens, and which of them signs and verifies when.

A key is known to workers before it signs, and stays known until the last token it signed has ended:

    made ── signs_from ───────── signs_until ── verifies_until
      └ published, not yet used    └ replaced     └ forgotten

So a rotation is never noticed by anyone who holds a token.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from inferflow.errors import InvalidInput, MissingExtra

SEED_BYTES = 32


@dataclass(frozen=True, slots=True)
class VerifyingKey:
    """The half of a key that everybody may know."""

    kid: str
    public: bytes

    def __post_init__(self) -> None:
        if len(self.public) != SEED_BYTES:
            raise InvalidInput(f"verifying key {self.kid!r}: {len(self.public)} bytes, not 32")


@dataclass(frozen=True, slots=True)
class SigningKey:
    """The half that only managers know, and the times it is good for."""

    kid: str
    seed: bytes = field(repr=False)
    signs_from_ms: int
    signs_until_ms: int
    verifies_until_ms: int

    def verifying(self) -> VerifyingKey:
        return VerifyingKey(self.kid, public_of(self.seed))


def new_signing_key(
    random_bytes: Callable[[int], bytes],
    *,
    signs_from_ms: int,
    signs_until_ms: int,
    verifies_until_ms: int,
) -> SigningKey:
    kid = random_bytes(8).hex()
    seed = random_bytes(SEED_BYTES)
    return SigningKey(kid, seed, signs_from_ms, signs_until_ms, verifies_until_ms)


def signer_at(keys: Iterable[SigningKey], now_ms: int) -> SigningKey | None:
    """The key to sign with: of those that may, the one that began last."""
    able = [key for key in keys if key.signs_from_ms <= now_ms < key.signs_until_ms]
    return max(able, key=lambda key: (key.signs_from_ms, key.kid), default=None)


def verifying_at(keys: Iterable[SigningKey], now_ms: int) -> tuple[VerifyingKey, ...]:
    """What workers must know now: keys in use, to come, and with tokens that may still run."""
    live = sorted((key for key in keys if now_ms < key.verifies_until_ms), key=lambda key: key.kid)
    return tuple(key.verifying() for key in live)


def public_of(seed: bytes) -> bytes:
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ModuleNotFoundError as missing:
        raise MissingExtra("worker", for_what="session tokens") from missing
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
