"""Which workers a caller is sent to, and which version it meets. Pure decisions over a snapshot.

Workers that are offline or draining, or lack a GPU that is needed, are never chosen. The others
are ranked: first those that did not just fail the caller, then those that are heard of, then those
that can load the model. Among equals

- without an affinity key, workers that hold the model and have room come before others that
  have room, which come before those that have none, so that a busy model spreads; the order
  within is by the better of two taken at random, which comes close to the least loaded without
  sending every caller to the same worker between two reports.
- with an affinity key, the order is a hash of key and worker alone (rendezvous hashing): a key
  stays with its worker whatever the load, and moves only when that worker is gone, or a new
  worker takes exactly the keys that are now its own.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from inferflow.errors import InvalidInput
from inferflow.serving.manager.fleet import Fleet, ModelKey, Patience, WorkerState, WorkerView

V = TypeVar("V", int, str)
Chance = Callable[[], float]
"""A number in [0, 1), another one each time."""

_REACHABLE = (WorkerState.ONLINE, WorkerState.SUSPECT)


@dataclass(frozen=True, slots=True)
class Need:
    """What a caller asks for."""

    model: str
    version: str
    needs_gpu: bool = False
    affinity_key: str = ""
    """Callers with the same key prefer the same worker; empty for none."""
    avoid: frozenset[str] = frozenset()
    """Workers that just failed the caller."""
    limit: int = 3
    """Workers to name, at most."""

    @property
    def key(self) -> ModelKey:
        return self.model, self.version


@dataclass(frozen=True, slots=True)
class Chosen:
    worker: WorkerView
    has_model: bool


def choose_workers(
    fleet: Fleet, need: Need, *, now_s: float, patience: Patience, chance: Chance
) -> tuple[Chosen, ...]:
    """Workers for a caller, best first; empty when none can serve it."""
    states = fleet.states(now_s, patience)
    able = [
        worker
        for worker_id, worker in fleet.workers.items()
        if states[worker_id] in _REACHABLE and (worker.gpus > 0 or not need.needs_gpu)
    ]

    def doubts(worker: WorkerView) -> tuple[bool, ...]:
        return (
            worker.worker_id in need.avoid,
            states[worker.worker_id] is WorkerState.SUSPECT,
            need.key in worker.load.failed,
        )

    def rank(worker: WorkerView) -> tuple[bool, ...]:
        has_room = worker.pressure < 1.0
        return (*doubts(worker), not has_room, need.key not in worker.load.loaded)

    if need.affinity_key:
        able.sort(key=lambda each: -_score(need.affinity_key, each.worker_id))
        ordered = sorted(able, key=doubts)
    else:
        ordered = _by_rank(able, rank, chance, need.limit)
    return tuple(
        Chosen(worker, need.key in worker.load.loaded) for worker in ordered[: max(need.limit, 0)]
    )


def _by_rank(
    workers: Iterable[WorkerView],
    rank: Callable[[WorkerView], tuple[bool, ...]],
    chance: Chance,
    limit: int,
) -> list[WorkerView]:
    groups: dict[tuple[bool, ...], list[WorkerView]] = {}
    for worker in workers:
        groups.setdefault(rank(worker), []).append(worker)
    ordered: list[WorkerView] = []
    for key in sorted(groups):
        left = groups[key]
        while left and len(ordered) < limit:
            ordered.append(left.pop(better_of_two(left, chance)))
    return ordered


def better_of_two(workers: Sequence[WorkerView], chance: Chance) -> int:
    """The index of the one with less work of two different ones taken at random; the first of
    them when they have the same."""
    first = int(chance() * len(workers))
    if len(workers) == 1:
        return first
    second = (first + 1 + int(chance() * (len(workers) - 1))) % len(workers)
    return min(first, second, key=lambda index: (workers[index].pressure, index != first))


def choose_version(shares: Mapping[V, float], key: str, *, salt: str) -> V:
    """The version a key meets, by shares of any sum. The same key meets the same version, and
    when shares change, keys move only from versions that lost to versions that gained.

    `salt` is the model's name: whether a key meets the canary of one model says nothing of another.
    """
    weighted = {version: share for version, share in shares.items() if share > 0}
    if not weighted or not all(map(math.isfinite, weighted.values())):
        raise InvalidInput(f"traffic of {salt!r}: no version has a share")
    return min(
        weighted,
        key=lambda version: -math.log(_score(key, f"{salt}@{version}")) / weighted[version],
    )


def _score(key: str, name: str) -> float:
    """A number in (0, 1) that depends on both alone, as if drawn at random for the pair."""
    digest = hashlib.blake2b(digest_size=8)
    part = key.encode("utf-8", "surrogatepass")
    digest.update(len(part).to_bytes(8, "little") + part + name.encode("utf-8", "surrogatepass"))
    return (int.from_bytes(digest.digest(), "little") + 0.5) / 2**64
