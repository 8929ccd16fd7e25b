"""A child's side of a snapshot: takes up what the parent has accepted, and judges nothing.

What did not change keeps its scorer. A config that cannot be taken up here leaves in place what
served before, and is told to the parent; the others are taken up all the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path

from inferflow.app.livebook import Book, live_split
from inferflow.app.pinned import PinnedModels
from inferflow.app.processes.messages import Took
from inferflow.app.processes.snapshot import Accepted, Snapshot, read_head
from inferflow.app.project_models import remote_endpoints
from inferflow.app.remaking import Remaker
from inferflow.app.wiring import Embedded
from inferflow.configstore import Texts
from inferflow.engine.scorer import Scorer
from inferflow.errors import InferflowError
from inferflow.plan.book import LiveSplit, PlanBook
from inferflow.plan.compiler import Compiled
from inferflow.plan.schema import ServiceDoc
from inferflow.plan.split import Split

log = logging.getLogger("inferflow.processes")


class Follower:
    """Keeps what a child serves in step with the snapshot. Used by one thread at a time."""

    def __init__(
        self,
        embedded: Embedded,
        home: Path,
        texts: Texts,
        tell_service: Callable[[ServiceDoc], None] = lambda _: None,
    ) -> None:
        """`tell_service` is told how log messages are written, when that is new."""
        self._embedded = embedded
        self._tell_service = tell_service
        self._home = home
        self._texts = texts
        self._taken: dict[str, Accepted] = {}
        """What was taken up as it is accepted; what was refused is tried again."""

    def look(self) -> Took:
        """Take up the accepted snapshot in one step. Raises ConfigStoreFailed when it cannot be
        read; what serves then stays."""
        snapshot = read_head(self._home)
        service = ServiceDoc(**snapshot.service) if snapshot.service else self._embedded.service
        if service != self._embedded.service:
            self._embedded.service = service
            self._tell_service(service)
        refused: dict[str, str] = {}
        before = self._embedded.book
        if snapshot.configs != self._taken:
            self._embedded.models.recheck(
                remote_endpoints(scorer.plan for scorer in before.live.values())
            )
        book = self._next_book(snapshot, before, refused)
        self._embedded.book = book
        self._taken = {
            config_id: accepted
            for config_id, accepted in snapshot.configs.items()
            if config_id not in refused
        }
        self._forget(before, book)
        return Took(snapshot.version, refused, "" if book.ids else "no model config is live")

    def _next_book(self, snapshot: Snapshot, before: Book, refused: dict[str, str]) -> Book:
        live: dict[str, Scorer] = {}
        shares: dict[str, Split] = {}
        remaker = Remaker(self._texts, self._embedded)
        for config_id, accepted in snapshot.configs.items():
            made = self._made(config_id, accepted, before, remaker, refused)
            if isinstance(made, Scorer):
                live[config_id] = made
            elif made is not None:
                shares[config_id] = made
        splits: dict[str, LiveSplit[Scorer]] = {}
        for config_id, split in shares.items():
            found = live_split(split, live, before.splits.get(config_id))
            if isinstance(found, LiveSplit):
                splits[config_id] = found
            else:
                refused.setdefault(config_id, str(found))
        status = {each: Compiled(each, None, snapshot.refused[each]) for each in snapshot.refused}
        return PlanBook(live, status, splits)

    def _made(
        self,
        config_id: str,
        accepted: Accepted,
        before: Book,
        remaker: Remaker,
        refused: dict[str, str],
    ) -> Scorer | Split | None:
        """What is to serve a config: made anew, or as before."""
        old = before.live.get(config_id)
        old_split = before.splits.get(config_id)
        kept = old if old is not None or old_split is None else old_split.split
        if self._taken.get(config_id) == accepted:
            return kept
        models = PinnedModels(self._embedded.models, accepted.models)
        try:
            made = remaker.make(config_id, accepted.served, models)
        except InferflowError as failed:
            refused[config_id] = str(failed)
            return kept
        except Exception as fault:  # ours, on one config: the others are taken up all the same
            log.exception("snapshot_failed", extra={"config_id": config_id})
            refused[config_id] = f"{type(fault).__name__}: {fault}"
            return kept
        if isinstance(made, LiveSplit):
            return made.split
        if made.plan.digest != accepted.plan:
            # Files are pinned, so it is a model elsewhere that tells each what it likes.
            refused[config_id] = "its plan is another here: a model on another host has changed"
            return old or made
        return old if old is not None and old.plan.digest == made.plan.digest else made

    def _forget(self, before: Book, now: Book) -> None:
        observer = self._embedded.observer
        if observer is not None:
            for config_id in before.ids:
                if config_id not in now.ids:
                    observer.plan_removed(config_id)
