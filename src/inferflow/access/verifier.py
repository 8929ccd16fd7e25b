"""Checks session tokens offline, quickly the second time.

A signature costs about a hundred microseconds to check and never changes its mind, so tokens that
were right once are remembered by their text. Everything that may change is looked at on every call:
the time, the revocations, the keys, whom the token is shown to and what is asked with it.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable
from typing import Any

from inferflow.access.revocation import Revocations
from inferflow.access.signing import VerifyingKey
from inferflow.access.tokens import Claims, TokenRules, public_key, read_token
from inferflow.errors import PermissionDenied, Unauthenticated


class TokenVerifier:
    """One worker's view of the tokens callers show to it, or a manager's with no `worker_id`."""

    def __init__(
        self,
        worker_id: str | None,
        clock: Callable[[], float],
        *,
        rules: TokenRules | None = None,
        most_remembered: int = 10_000,
    ) -> None:
        """`clock` gives seconds since the epoch."""
        self._worker_id = worker_id
        self._clock = clock
        self._rules = rules or TokenRules()
        self._most_remembered = most_remembered
        self._published: frozenset[VerifyingKey] = frozenset()
        self._keys: dict[str, Any] = {}
        self._revocations = Revocations()
        self._remembered: OrderedDict[str, Claims] = OrderedDict()

    def use_keys(self, keys: Iterable[VerifyingKey]) -> None:
        """The whole set of keys to trust from now on. Tokens of others are forgotten."""
        published = frozenset(keys)
        if published == self._published:
            return
        self._keys = {key.kid: public_key(key.public) for key in published}
        self._published = published
        self._remembered = OrderedDict()

    def use_revocations(self, revocations: Revocations) -> None:
        self._revocations = revocations

    def verify(self, token: str) -> Claims:
        """What a token says that is valid here and now. Raises Unauthenticated."""
        claims = self._remembered.get(token)
        if claims is None:
            claims = read_token(token, self._keys, self._rules)
            self._check(claims)
            self._remember(token, claims)
            return claims
        self._check(claims)
        return claims

    def verify_for(self, token: str, *, model: str, version: str) -> Claims:
        """As `verify`, for a call to one version of one model. Raises PermissionDenied too."""
        claims = self.verify(token)
        if (claims.model, claims.version) != (model, version):
            raise PermissionDenied(
                f"the session token is for model {claims.model!r} version {claims.version}, "
                f"not for {model!r} version {version}"
            )
        return claims

    def _check(self, claims: Claims) -> None:
        if not claims.is_current(self._clock(), self._rules):
            raise Unauthenticated("the session token has expired or is not valid yet")
        if self._worker_id is not None and self._worker_id not in claims.workers:
            raise Unauthenticated("the session token is for other workers")
        if self._revocations.names(key_id=claims.key_id, token_id=claims.token_id):
            raise Unauthenticated("the session token was revoked")

    def _remember(self, token: str, claims: Claims) -> None:
        self._remembered[token] = claims
        if len(self._remembered) > self._most_remembered:
            self._remembered.popitem(last=False)
