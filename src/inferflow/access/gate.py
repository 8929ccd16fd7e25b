"""Who is let in, and for what: the one question every server asks of every call.

A caller shows an API key, a name with a token, or the certificate of its connection, in this order:
whoever shows a key is judged by that key, whatever certificate it has. Sources of keys are asked
in turn, those in memory first. Whoever tries many wrong ones is slowed down.

A known caller costs a few microseconds and no memory of secrets: what is kept are digests.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from inferflow.access.callers import CallerBook, token_digest
from inferflow.access.guesses import Guesses
from inferflow.access.keybook import KeyBook
from inferflow.access.keys import OPERATOR, KeyCard, looks_like_key
from inferflow.access.permissions import Permission
from inferflow.access.rates import KeyRates
from inferflow.access.refusals import Refusals
from inferflow.errors import Unauthenticated

_SHOW = (
    "an API key is wanted: `authorization: Bearer …` beside the call, which is `key=` in Python "
    "and INFERFLOW_API_KEY on the command line"
)

Needs = Permission | frozenset[Permission]
"""What a call takes; of several, any one is enough."""


@dataclass(frozen=True, slots=True)
class Credentials:
    """What came with a call. Nothing of it is printed."""

    key: str = field(default="", repr=False)
    """An API key."""
    caller: str = ""
    token: str = field(default="", repr=False)
    """A name and its proof, as clients of the original show them. The proof may be an API key."""
    certificate: tuple[str, ...] = ()
    """Names in the certificate that the connection was made with: URIs, hosts, the common name."""
    source: str = ""
    """The address it comes from."""

    @property
    def digest(self) -> bytes:
        """Of the secret that is shown; empty when none is."""
        if self.key:
            return token_digest(self.key)
        return token_digest(f"{self.caller}\0{self.token}") if self.token else b""


class KeySource(Protocol):
    """Knows API keys."""

    async def identify(self, key: str) -> KeyCard:
        """Whose key it is. Raises Unauthenticated, or another error when nobody can tell now."""
        ...

    async def close(self) -> None:
        """Let go of whatever it asks."""
        ...


class Gate:
    """Decides in memory, except where a source has to ask somebody."""

    is_open = False

    def __init__(
        self,
        sources: Sequence[KeySource],
        clock: Callable[[], float],
        *,
        callers: CallerBook | None = None,
        certificates: Mapping[str, KeyCard] | None = None,
    ) -> None:
        """`clock` is monotonic, in seconds."""
        self._sources = tuple(sources)
        self._callers = callers or CallerBook()
        self._certificates = dict(certificates or {})
        self._guesses = Guesses(clock)
        self._rates = KeyRates(clock)
        self.refusals = Refusals()
        """Whom the server before this gate turned away; noted by whoever answers."""

    @property
    def reads_certificates(self) -> bool:
        return bool(self._certificates)

    async def admit(
        self, shown: Credentials, *, needs: Needs, model: str | None = None, counts: bool = True
    ) -> KeyCard:
        """The caller, who may do this, to this model if one is named.

        Unless it `counts` not, the call is one of those that the caller's rate allows. Raises
        Unauthenticated, PermissionDenied or RateLimited.
        """
        card = await self._identified(shown)
        card.require(needs, model)
        if counts:
            self.count(card)
        return card

    def count(self, card: KeyCard) -> None:
        """One more call. Raises RateLimited."""
        self._rates.take(card.key_id, card.rate)

    async def close(self) -> None:
        """To be called when no further call will be asked about."""
        for source in self._sources:
            await source.close()

    async def _identified(self, shown: Credentials) -> KeyCard:
        proof = shown.digest
        if not proof:  # showing nothing is no guess
            return await self._recognised(shown)
        self._guesses.check(shown.source, proof)
        try:
            card = await self._recognised(shown)
        except Unauthenticated:
            self._guesses.was_wrong(shown.source, proof)
            raise
        self._guesses.was_right(shown.source, proof)
        return card

    async def _recognised(self, shown: Credentials) -> KeyCard:
        if shown.key:
            return await self._key(shown.key)
        if shown.token:
            if looks_like_key(shown.token):
                return await self._key(shown.token)
            return self._callers.authenticate(shown.caller, shown.token)
        for name in shown.certificate:
            if name in self._certificates:
                return self._certificates[name]
        if shown.certificate:
            raise Unauthenticated(
                f"the certificate of {shown.certificate[0]!r} is nobody's here; show an API key"
            )
        raise Unauthenticated(_SHOW)

    async def _key(self, text: str) -> KeyCard:
        refused = Unauthenticated("this server knows no API keys")
        for source in self._sources:
            try:
                return await source.identify(text)
            except Unauthenticated as unknown:
                refused = unknown
        raise refused


class OpenGate:
    """Lets everybody do everything, as the one who runs the process."""

    is_open = True
    reads_certificates = False

    def __init__(self) -> None:
        self.refusals = Refusals()
        """There are others than a gate who turn callers away."""

    async def admit(
        self, shown: Credentials, *, needs: Needs, model: str | None = None, counts: bool = True
    ) -> KeyCard:
        del shown, needs, model, counts
        return OPERATOR

    def count(self, card: KeyCard) -> None:
        """Nobody is counted."""

    async def close(self) -> None:
        """Nobody is asked."""


class BookKeys:
    """The keys of a book as a source."""

    def __init__(self, book: KeyBook, clock: Callable[[], float]) -> None:
        """`clock` gives seconds since the epoch."""
        self.book = book
        self._clock = clock

    async def identify(self, key: str) -> KeyCard:
        return self.book.authenticate(key, now_ms=int(self._clock() * 1000))

    async def close(self) -> None:
        """The book is somebody else's."""
