"""API keys: how one looks, how it is kept, and what is known about it.

A key reads `ifk_<key id>_<secret>`. The id is no secret: it names the key in lists, logs and
tokens. The secret is 32 random bytes and is shown once; what is kept is an HMAC of it under a
pepper that is not in the database, so a stolen database opens nothing. Random secrets of this
size cannot be guessed, which is why no slow password hash is needed.
"""

from __future__ import annotations

import base64
import hmac
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from inferflow.access.permissions import ModelPatterns, Permission
from inferflow.access.rates import RateLimit
from inferflow.errors import InvalidInput, PermissionDenied, Unauthenticated

SECRET_BYTES = 32
SHORTEST_PEPPER = 32
LONGEST_NAME = 128

_KEY = re.compile(r"ifk_([0-9a-f]{12})_([A-Za-z0-9_-]{43})")


@dataclass(frozen=True, slots=True)
class KeyCard:
    """What is known about a key. Nothing on it opens anything."""

    key_id: str
    name: str
    permissions: frozenset[Permission]
    models: ModelPatterns
    created_ms: int
    created_by: str = ""
    expires_ms: int | None = None
    revoked_ms: int | None = None
    rate: RateLimit | None = None

    def is_live(self, now_ms: int) -> bool:
        """From the millisecond it expires or is revoked on, a key is dead."""
        expired = self.expires_ms is not None and now_ms >= self.expires_ms
        return self.revoked_ms is None and not expired

    def require(self, needs: Permission | frozenset[Permission], model: str | None = None) -> None:
        """Raises PermissionDenied unless this key may do so, to this model if one is named. Of
        several permissions any one is enough."""
        if isinstance(needs, Permission):
            is_enough = needs in self.permissions
        else:
            is_enough = not needs.isdisjoint(self.permissions)
        if not is_enough:
            listed = {needs} if isinstance(needs, Permission) else needs
            wanted = " or ".join(repr(each.value) for each in sorted(listed))
            raise PermissionDenied(f"key {self.key_id!r} lacks the permission {wanted}")
        if model is not None:
            self.require_model(model)

    def require_model(self, model: str) -> None:
        """Raises PermissionDenied unless this key is for a model."""
        if not self.models.allow(model):
            raise PermissionDenied(f"key {self.key_id!r} is not for model {model!r}")


OPERATOR = KeyCard("operator", "the operator", frozenset(Permission), ModelPatterns(), created_ms=0)
"""Whoever runs the process: the card of calls that come from inside it."""


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key as it is kept: the card, and what proves that somebody holds the secret."""

    card: KeyCard
    digest: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key just made. `text` is never to be had again."""

    key_id: str
    text: str = field(repr=False)


def mint_key(random_bytes: Callable[[int], bytes]) -> NewKey:
    """A new key from a source of randomness such as `secrets.token_bytes`."""
    key_id = random_bytes(6).hex()
    secret = base64.urlsafe_b64encode(random_bytes(SECRET_BYTES)).rstrip(b"=").decode()
    return NewKey(key_id, f"ifk_{key_id}_{secret}")


def parse_key(text: str) -> tuple[str, str]:
    """Id and secret of a key as it was presented. Raises Unauthenticated, echoing nothing."""
    read = _KEY.fullmatch(text)
    if read is None:
        raise Unauthenticated("this is not an API key; one reads ifk_<id>_<secret>")
    return read[1], read[2]


def looks_like_key(text: str) -> bool:
    """Whether it can be an API key at all."""
    return text.startswith("ifk_")


class KeyHasher:
    """Turns secrets into what may be kept."""

    def __init__(self, pepper: bytes) -> None:
        if len(pepper) < SHORTEST_PEPPER:
            raise InvalidInput(f"the secret for API keys is shorter than {SHORTEST_PEPPER} bytes")
        self._pepper = pepper

    def digest(self, key_id: str, secret: str) -> bytes:
        """Covers the id too, so that a digest moved to another key proves nothing."""
        return hmac.digest(self._pepper, f"api-key:{key_id}:{secret}".encode(), "sha256")

    def stored(self, card: KeyCard, key: NewKey) -> StoredKey:
        return StoredKey(card, self.digest(*parse_key(key.text)))
