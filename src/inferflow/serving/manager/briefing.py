"""What every worker must know: whom to trust, which models there are, and what to hold ready.

A briefing has an etag made from all it says, the same at every manager. A worker that already has
it is not told again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from inferflow.access import RateLimit, Revocations, VerifyingKey
from inferflow.serving.manager.fleet import ModelKey, WorkerView
from inferflow.serving.manager.live import LiveRegistry, Snapshot
from inferflow.serving.manager.names import PREFETCH
from inferflow.serving.manager.sessions import Sessions
from inferflow.serving.manager.stages import SERVED
from inferflow.serving.manager.storage.records import Model, Version

_FRESH_S = 0.5
"""What depends on time alone, such as keys that are over, is looked at again after this."""


@dataclass(frozen=True, slots=True)
class Briefing:
    etag: str
    verifying_keys: tuple[VerifyingKey, ...]
    revocations: Revocations
    versions: tuple[Version, ...]
    """Every version that can be served. The one callers get who name none is its model's last."""
    limits: Mapping[str, RateLimit]
    prefetch: tuple[ModelKey, ...] = ()
    drain: bool = False


class Briefings:
    def __init__(self, live: LiveRegistry, sessions: Sessions, clock: Callable[[], float]) -> None:
        self._live = live
        self._sessions = sessions
        self._clock = clock
        self._common: Briefing | None = None
        self._revision = -1
        self._made_s = 0.0

    def for_worker(self, worker: WorkerView) -> Briefing:
        """In memory, and cheap when nothing changed."""
        common = self._for_all()
        prefetch = tuple(wanted(self._live.snapshot, worker))
        own = json.dumps([common.etag, prefetch, worker.is_draining])
        return Briefing(
            _digest(own),
            common.verifying_keys,
            common.revocations,
            common.versions,
            common.limits,
            prefetch,
            worker.is_draining,
        )

    def _for_all(self) -> Briefing:
        snapshot, now_s = self._live.snapshot, self._clock()
        is_old = not 0 <= now_s - self._made_s < _FRESH_S
        if self._common is None or snapshot.revision != self._revision or is_old:
            self._common = self._made(snapshot)
            self._revision, self._made_s = snapshot.revision, now_s
        return self._common

    def _made(self, snapshot: Snapshot) -> Briefing:
        keys = self._sessions.verifying_keys()
        revoked = self._sessions.revocations()
        versions = tuple(v for m in snapshot.models.values() for v in _servable(m))
        limits = {card.key_id: card.rate for card in self._live.keybook.cards() if card.rate}
        said = [
            [key.kid for key in keys],
            sorted(revoked.key_ids),
            sorted(revoked.token_ids),
            [[v.model, v.number, v.digest, v.stage, dict(v.options)] for v in versions],
            sorted([key_id, rate.per_second, rate.burst] for key_id, rate in limits.items()),
        ]
        return Briefing(_digest(json.dumps(said)), keys, revoked, versions, limits)


def wanted(snapshot: Snapshot, worker: WorkerView) -> Iterator[ModelKey]:
    """Versions a worker should have in memory before anybody asks: those that get traffic, of
    models it already serves in some version, or whose options ask for it."""
    busy = {model for model, _ in worker.load.loaded}
    for model in snapshot.models.values():
        for version in model.versions:
            asks = bool(version.options.get(PREFETCH)) and version.stage in SERVED
            if not version.problem and (
                asks or (model.name in busy and _has_traffic(model, version))
            ):
                yield model.name, str(version.number)


def _has_traffic(model: Model, version: Version) -> bool:
    return version.number in model.traffic if model.traffic else version is model.production()


def _servable(model: Model) -> list[Version]:
    production = model.production()
    fine = [version for version in model.versions if not version.problem]
    # A caller that names no version gets the last; the one in production, where there is one.
    return sorted(fine, key=lambda version: (version is production, version.number))


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
