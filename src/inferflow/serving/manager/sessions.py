"""Session tokens as a service: made, renewed, taken back, and what workers must know of them.

Everything but taking back happens in memory.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from inferflow.access import (
    Claims,
    KeyCard,
    Permission,
    Revocations,
    TokenRules,
    TokenVerifier,
    VerifyingKey,
    sign_token,
)
from inferflow.access.signing import signer_at, verifying_at
from inferflow.errors import InvalidInput, NotFound, RegistryFailed, Unauthenticated
from inferflow.serving.manager.live import LiveRegistry
from inferflow.serving.manager.storage import Storage
from inferflow.serving.manager.storage.records import AuditEntry


@dataclass(frozen=True, slots=True)
class Session:
    token_id: str
    token: str = field(repr=False)
    expires_ms: int
    model: str
    version: str
    workers: tuple[str, ...]


class Sessions:
    def __init__(
        self,
        storage: Storage,
        live: LiveRegistry,
        clock: Callable[[], float],
        *,
        tokens: TokenRules | None = None,
        random_bytes: Callable[[int], bytes] = secrets.token_bytes,
    ) -> None:
        self._storage = storage
        self._live = live
        self._clock = clock
        self._tokens = tokens or TokenRules()
        self._random_bytes = random_bytes
        self._verifier = TokenVerifier(None, clock, rules=self._tokens)

    def issue(self, card: KeyCard, *, model: str, version: str, workers: Sequence[str]) -> Session:
        """A token for one key, one version and these workers. Never outlives the key."""
        card.require(Permission.INFERENCE, model)
        if not workers:
            raise InvalidInput("workers: a token is for at least one")
        key = signer_at(self._live.snapshot.signing, self._now_ms())
        if key is None:
            raise RegistryFailed("there is no key to sign session tokens with")
        now_s = int(self._clock())
        expires_s = now_s + self._tokens.ttl_s
        if card.expires_ms is not None:
            expires_s = min(expires_s, card.expires_ms // 1000)
        if expires_s <= now_s:
            raise Unauthenticated("this API key is about to expire")
        token_id = self._random_bytes(12).hex()
        audience = tuple(workers)
        claims = Claims(token_id, card.key_id, audience, model, version, now_s, now_s, expires_s)
        token = sign_token(claims, key)
        return Session(token_id, token, expires_s * 1000, model, version, audience)

    def refresh(self, card: KeyCard, token: str) -> Session:
        """A new token for what a valid one was for, shown by the key it was made for.

        Raises NotFound when the version is gone, so that the caller asks for workers anew.
        """
        claims = self.read(token)
        if claims.key_id != card.key_id:
            raise Unauthenticated("the session token was made for another API key")
        known = self._live.snapshot.models.get(claims.model)
        numbers = {str(version.number) for version in known.versions} if known else set()
        if claims.version not in numbers:
            raise NotFound("model", f"{claims.model}@{claims.version}")
        return self.issue(card, model=claims.model, version=claims.version, workers=claims.workers)

    def read(self, token: str) -> Claims:
        """What a token says that is valid now. Raises Unauthenticated."""
        self._verifier.use_keys(self.verifying_keys())
        self._verifier.use_revocations(self.revocations())
        return self._verifier.verify(token)

    async def revoke(self, by: KeyCard, token_id: str) -> None:
        """Take one token back; workers learn of it with their next heartbeat."""
        by.require(Permission.ADMIN)
        now_ms = self._now_ms()
        until_ms = now_ms + self._longest_ms()
        async with self._storage.writing() as tx:
            await tx.signing.revoke_token(token_id, until_ms)
            await tx.audit.add(AuditEntry(now_ms, by.key_id, "token revoked", token_id))
        await self._live.refresh()

    def verifying_keys(self) -> tuple[VerifyingKey, ...]:
        return verifying_at(self._live.snapshot.signing, self._now_ms())

    def revocations(self) -> Revocations:
        """Keys are listed for as long as a token made just before could still be valid."""
        since_ms = self._now_ms() - self._longest_ms()
        recent = frozenset(
            card.key_id
            for card in self._live.keybook.cards()
            if card.revoked_ms is not None and card.revoked_ms > since_ms
        )
        return Revocations(recent, self._live.snapshot.revoked_tokens)

    def _longest_ms(self) -> int:
        """How long after it was made a token may still be accepted."""
        return (self._tokens.ttl_s + 2 * self._tokens.leeway_s) * 1000

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)
