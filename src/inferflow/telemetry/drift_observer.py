"""Looks at a share of the answers for scores and features that drift, on a thread of its own.

On the request's path it only decides whether to look, and puts the run aside if there is room.
The reference of a column is what a version of its config answered first; another version has
another. The number of columns is bounded, and so is what waits.
"""

from __future__ import annotations

import logging
import queue
import random
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

import numpy as np

from inferflow.engine.observer import Observer
from inferflow.engine.run import Run
from inferflow.plan.plan import Column, Plan
from inferflow.telemetry.drift import Array, DriftRule, DriftWatch, Turn
from inferflow.telemetry.drift_webhook import Webhook

log = logging.getLogger("inferflow.drift")

_WAITING = 64
"""Runs that may wait; a run is large."""
_MOST_COLUMNS = 500
_LAST_S = 2.0
"""How long the end of a process waits for a webhook."""

OK, FAILED = "ok", "failed"
"""What becomes of a message."""

Labels = tuple[str, str]


@dataclass(frozen=True, slots=True)
class DriftOptions:
    sample: float = 0.0
    """The share of answers that is looked at; nothing is watched at 0."""
    features: tuple[str, ...] = ()
    """Patterns of columns that models read; columns of the answer are watched in any case."""
    rule: DriftRule = field(default_factory=DriftRule)
    webhook: Webhook | None = None


class DriftObserver(Observer):
    """Give it to every Scorer; close it at the end."""

    def __init__(
        self,
        options: DriftOptions,
        *,
        chance: Callable[[], float] = random.random,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._options = options
        self._chance = chance
        self._now = now
        self._runs: queue.Queue[Run | None] = queue.Queue(_WAITING)
        self._closing = threading.Event()
        self._watches: dict[Labels, tuple[str, DriftWatch]] = {}
        self._columns: dict[str, tuple[Plan, list[tuple[str, Column]]]] = {}
        self._episodes: dict[Labels, int] = {}
        self._told = {} if options.webhook is None else {OK: 0, FAILED: 0}
        self._thread = threading.Thread(target=self._work, name="inferflow-drift", daemon=True)
        self._thread.start()

    def request_answered(self, run: Run) -> None:
        if self._chance() < self._options.sample:
            with suppress(queue.Full):  # a sample of those that were looked at in time is one too
                self._runs.put_nowait(run)

    def plan_removed(self, config_id: str) -> None:
        self._columns.pop(config_id, None)
        for labels in [each for each in list(self._watches) if each[0] == config_id]:
            self._watches.pop(labels, None)
            self._episodes.pop(labels, None)

    def distances(self) -> list[tuple[Labels, float]]:
        """The distance of each column's last window, by config and column."""
        found = [(labels, watch.last) for labels, (_, watch) in list(self._watches.items())]
        return [(labels, look.psi) for labels, look in found if look is not None]

    def drifting(self) -> list[tuple[Labels, int]]:
        """1 for the columns that drift now, 0 for the others."""
        watches = list(self._watches.items())
        return [(labels, int(watch.is_drifting)) for labels, (_, watch) in watches]

    def episodes(self) -> list[tuple[Labels, int]]:
        """How often each column began to drift."""
        return [(labels, self._episodes.get(labels, 0)) for labels in list(self._watches)]

    def messages(self) -> list[tuple[tuple[str], int]]:
        """What became of messages to the webhook."""
        return [((outcome,), count) for outcome, count in list(self._told.items())]

    def close(self) -> None:
        """What waits is not looked at any more."""
        self._closing.set()
        with suppress(queue.Full):
            self._runs.put_nowait(None)
        self._thread.join(_LAST_S)

    # --- the thread -------------------------------------------------------------------------

    def _work(self) -> None:
        while (run := self._runs.get()) is not None and not self._closing.is_set():
            try:
                self._look(run)
            except Exception:  # the boundary of a look: the next one may be better
                log.exception("drift_look_failed", extra={"config_id": run.plan.config_id})

    def _look(self, run: Run) -> None:
        plan = run.plan
        for name, column in self._chosen(plan):
            if not run.matrix.is_filled(column.block):
                continue
            watch = self._watch(plan, name)
            turn = None if watch is None else watch.add(_numbers(run, column))
            if watch is not None and turn is not None:
                self._tell(plan, name, watch, turn)

    def _chosen(self, plan: Plan) -> list[tuple[str, Column]]:
        found = self._columns.get(plan.config_id)
        if found is None or found[0] is not plan:
            listed = list(_chosen(plan, self._options.features))
            found = self._columns[plan.config_id] = (plan, listed)
        return found[1]

    def _watch(self, plan: Plan, name: str) -> DriftWatch | None:
        labels = (plan.config_id, name)
        found = self._watches.get(labels)
        if found is None and len(self._watches) >= _MOST_COLUMNS:
            return None
        if found is None or found[0] != plan.digest:
            found = self._watches[labels] = (plan.digest, DriftWatch(self._options.rule))
        return found[1]

    def _tell(self, plan: Plan, name: str, watch: DriftWatch, turn: Turn) -> None:
        look = watch.last
        assert look is not None
        event = {
            "event": f"drift_{turn}",
            "config": plan.config_id,
            "config_version": plan.digest,
            "column": name,
            "psi": round(look.psi, 6),
            "mean": look.mean,
            "std": look.std,
            "missing": look.missing,
            "threshold": self._options.rule.threshold,
            "at_ms": int(self._now() * 1000),
        }
        log.warning("drift", extra={"turn": turn, "config_id": plan.config_id, "column": name})
        if turn == "begun":
            labels = (plan.config_id, name)
            self._episodes[labels] = self._episodes.get(labels, 0) + 1
        if self._options.webhook is not None:
            is_taken = self._options.webhook.tell(event, self._closing.wait)
            self._told[OK if is_taken else FAILED] += 1


def _chosen(plan: Plan, features: Iterable[str]) -> Iterable[tuple[str, Column]]:
    """Numbers of the answer, and of what models read as far as it is asked for."""
    answered = dict(plan.response.targets)
    read = {
        name: column
        for name, column in plan.response.full
        if any(fnmatchcase(name, pattern) for pattern in features)
    }
    for name, column in {**read, **answered}.items():
        kind = column.dtype
        if kind is not None and not kind.is_text and not kind.is_vector:
            yield name, column


def _numbers(run: Run, column: Column) -> Array:
    values = np.asarray(run.matrix.column(column)).reshape(-1).astype(np.float64)
    blank = run.matrix.blank(column)
    if blank is None:
        return values
    return np.where(np.broadcast_to(blank, values.shape), np.nan, values)
