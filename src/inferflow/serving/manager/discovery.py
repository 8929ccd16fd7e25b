"""Where callers are sent: a version by its share of the traffic, workers by `scheduling`, a token.

All of it happens in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from inferflow.access import KeyCard, Permission
from inferflow.errors import InvalidInput, ModelUnavailable, NotFound
from inferflow.serving.manager.fleet import WorkerState
from inferflow.serving.manager.registry import Registry
from inferflow.serving.manager.roster import Roster
from inferflow.serving.manager.scheduling import Chosen, Need, choose_version, choose_workers
from inferflow.serving.manager.sessions import Session, Sessions
from inferflow.serving.manager.stages import version_of
from inferflow.serving.manager.storage.records import Stage

NAMED = 3
"""Workers that are named to a caller that does not say how many."""
MOST_NAMED = 16
LONGEST_AFFINITY = 512
MOST_AVOIDED = 256


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a caller asks for."""

    model: str
    number: int | None = None
    stage: Stage | None = None
    needs_gpu: bool = False
    affinity_key: str = ""
    avoid: frozenset[str] = frozenset()
    limit: int = 0
    """0 leaves it to the manager."""


@dataclass(frozen=True, slots=True)
class Found:
    session: Session
    workers: tuple[Chosen, ...]
    """Best first."""


class Discovery:
    def __init__(
        self,
        registry: Registry,
        roster: Roster,
        sessions: Sessions,
        clock: Callable[[], float],
        chance: Callable[[], float],
    ) -> None:
        """`chance` gives another number in [0, 1) each time."""
        self._registry = registry
        self._roster = roster
        self._sessions = sessions
        self._clock = clock
        self._chance = chance

    def find(self, by: KeyCard, wanted: Wanted) -> Found:
        """Raises NotFound for a model or version, ModelUnavailable when no worker is up."""
        _check(wanted)
        shares = self._registry.choices(by, wanted.model, number=wanted.number, stage=wanted.stage)
        # Who does not ask to stay where it was is spread anew each time.
        key = wanted.affinity_key or str(self._chance())
        version = str(choose_version(shares, key, salt=wanted.model))
        need = Need(
            wanted.model,
            version,
            wanted.needs_gpu,
            wanted.affinity_key,
            wanted.avoid,
            min(wanted.limit or NAMED, MOST_NAMED),
        )
        chosen = choose_workers(
            self._roster.fleet,
            need,
            now_s=self._clock(),
            patience=self._roster.patience,
            chance=self._chance,
        )
        if not chosen:
            kind = "no worker with a GPU" if wanted.needs_gpu else "no worker"
            raise ModelUnavailable(f"{wanted.model}@{version}", f"{kind} is up")
        ids = [each.worker.worker_id for each in chosen]
        session = self._sessions.issue(by, model=wanted.model, version=version, workers=ids)
        return Found(session, chosen)

    def renew(self, by: KeyCard, token: str) -> Found:
        """A new token for the same version and workers.

        Raises NotFound when the version was replaced, and ModelUnavailable when none of the
        workers is there any more: then the caller asks anew.
        """
        by.require(Permission.INFERENCE)
        claims = self._sessions.read(token)
        session = self._sessions.refresh(by, token)
        version = version_of(self._registry.model(by, claims.model), int(claims.version))
        label = f"{claims.model}@{claims.version}"
        if version.stage is Stage.ARCHIVED:
            raise NotFound("model in use", label)
        workers = tuple(self._still_there(claims.workers, (claims.model, claims.version)))
        if not workers:
            raise ModelUnavailable(label, "the workers of this session are gone; discover anew")
        return Found(session, workers)

    def _still_there(self, worker_ids: Iterable[str], model: tuple[str, str]) -> Iterable[Chosen]:
        now_s, patience = self._clock(), self._roster.patience
        for worker_id in worker_ids:
            view = self._roster.view(worker_id)
            if view is None:
                continue
            if view.state(now_s, patience) in (WorkerState.ONLINE, WorkerState.SUSPECT):
                yield Chosen(view, model in view.load.loaded)


def _check(wanted: Wanted) -> None:
    if len(wanted.affinity_key) > LONGEST_AFFINITY:
        raise InvalidInput(f"affinity_key: longer than {LONGEST_AFFINITY} characters")
    if len(wanted.avoid) > MOST_AVOIDED:
        raise InvalidInput(f"avoid: more than {MOST_AVOIDED} workers")
