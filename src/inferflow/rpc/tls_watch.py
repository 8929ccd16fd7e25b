"""Says in the log, in time, that certificates in use will end: when a quarter of their life is left
or 30 days, whichever is less, once more at a tenth or 7 days, and when they have ended.

So it stays quiet about those that live for a day and are replaced every few hours.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime

from inferflow.rpc.tls import Certificates, Pems

log = logging.getLogger(__name__)

LOOK_S = 600.0
_DAY_S = 86_400.0
_STEPS = ((1 / 4, 30 * _DAY_S), (1 / 10, 7 * _DAY_S), (0.0, 0.0))
"""What is left when it is told: a share of the life, and at most so many seconds."""


@dataclass(frozen=True, slots=True)
class Life:
    """Of the certificate of a file that ends first; in seconds since the epoch."""

    start: float
    end: float

    def steps_passed(self, now: float) -> int:
        left, whole = self.end - now, self.end - self.start
        return sum(left <= min(share * whole, most) for share, most in _STEPS)


class CertificateWatch:
    """Looks when it is told to, or again and again between `begin` and `end`."""

    def __init__(self, certificates: Certificates, clock: Callable[[], float] = time.time) -> None:
        """`clock` gives seconds since the epoch."""
        self._certificates = certificates
        self._clock = clock
        self._read: Pems | None = None
        self._lives: dict[str, Life] = {}
        self._told: dict[str, int] = {}
        self._looking: asyncio.Task[None] | None = None

    def seconds_left(self) -> dict[str, float]:
        """Until the first certificate of a file ends, below 0 after: of `cert` and of `ca`, as far
        as there are such files."""
        now = self._clock()
        return {file: life.end - now for file, life in self._in_use().items()}

    def look(self) -> None:
        now = self._clock()
        for file, life in self._in_use().items():
            passed = life.steps_passed(now)
            if passed > self._told.get(file, 0):
                self._told[file] = passed
                self._tell(file, life, now)

    def _in_use(self) -> dict[str, Life]:
        pems = self._certificates.current()
        if pems is not self._read:
            self._read, self._lives, self._told = pems, _lives(pems), {}
        return self._lives

    def begin(self) -> None:
        """Needs a running event loop. A second time changes nothing."""
        if self._looking is None:
            self._looking = asyncio.ensure_future(self._look_again())

    async def end(self) -> None:
        looking, self._looking = self._looking, None
        if looking is not None:
            looking.cancel()
            await asyncio.gather(looking, return_exceptions=True)

    async def _look_again(self) -> None:
        while True:
            self.look()
            await asyncio.sleep(LOOK_S)

    def _tell(self, file: str, life: Life, now: float) -> None:
        files = self._certificates.files
        log.warning(
            "certificate_expires" if life.end > now else "certificate_expired",
            extra={
                "file": files.cert if file == "cert" else files.ca,
                "at": datetime.fromtimestamp(life.end, UTC).isoformat(),
                "days_left": round((life.end - now) / _DAY_S, 1),
            },
        )


def _lives(pems: Pems) -> dict[str, Life]:
    found = {"cert": _first_to_end(pems.cert), "ca": _first_to_end(pems.ca)}
    return {file: life for file, life in found.items() if life is not None}


def _first_to_end(pem: bytes) -> Life | None:
    """None where nothing is there, or nothing that can be read here; TLS itself reads it."""
    try:
        from cryptography import x509

        found = x509.load_pem_x509_certificates(pem) if pem else []
    except (ModuleNotFoundError, ValueError):
        return None
    lives = [
        Life(each.not_valid_before_utc.timestamp(), each.not_valid_after_utc.timestamp())
        for each in found
    ]
    return min(lives, key=lambda life: life.end, default=None)
