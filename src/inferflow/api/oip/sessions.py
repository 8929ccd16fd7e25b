"""Callers who show a session token: whom a manager has sent here, and for what.

Checked offline, in memory, on every call. What is known comes with the manager's orders.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from inferflow.access import Claims, KeyRates, RateLimit, Revocations, TokenVerifier, VerifyingKey
from inferflow.api.bearer import bearer
from inferflow.api.oip.access import Metadata
from inferflow.errors import PermissionDenied, Unauthenticated


class SessionAccess:
    """Lets nobody in until the worker has joined a fleet."""

    def __init__(self, clock: Callable[[], float], monotonic: Callable[[], float]) -> None:
        """`clock` gives seconds since the epoch."""
        self._clock = clock
        self._rates = KeyRates(monotonic)
        self._limits: Mapping[str, RateLimit] = {}
        self._verifier: TokenVerifier | None = None
        self._worker_id = ""

    def joined(self, worker_id: str) -> None:
        """The name that tokens must have been made for."""
        if worker_id != self._worker_id:
            self._worker_id = worker_id
            self._verifier = TokenVerifier(worker_id, self._clock)

    def use(
        self,
        keys: tuple[VerifyingKey, ...],
        revocations: Revocations,
        limits: Mapping[str, RateLimit],
    ) -> None:
        if self._verifier is not None:
            self._verifier.use_keys(keys)
            self._verifier.use_revocations(revocations)
        self._limits = limits

    def identify(self, metadata: Metadata) -> SessionCaller:
        if self._verifier is None:
            raise Unauthenticated("this worker belongs to no fleet yet")
        token = bearer(metadata, what="a session token")
        return SessionCaller(self._verifier.verify(token), self)

    def count(self, key_id: str) -> None:
        """Raises RateLimited."""
        self._rates.take(key_id, self._limits.get(key_id))


class SessionCaller:
    def __init__(self, claims: Claims, access: SessionAccess) -> None:
        self._claims = claims
        self._access = access

    @property
    def key_id(self) -> str:
        return self._claims.key_id

    @property
    def version(self) -> str:
        return self._claims.version

    def check_inference(self, model: str, version: str) -> None:
        claims = self._claims
        if (claims.model, claims.version) != (model, version):
            raise PermissionDenied(
                f"the session token is for model {claims.model!r} version {claims.version}, "
                f"not for {model!r} version {version}"
            )
        self._access.count(claims.key_id)

    def check_model(self, model: str) -> None:
        if model != self._claims.model:
            raise PermissionDenied(f"the session token is for model {self._claims.model!r}")

    def check_administration(self) -> None:
        raise PermissionDenied("what a worker of a fleet serves is the manager's business")
