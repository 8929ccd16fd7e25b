"""Group commit: writers that arrive while one commit is under way share the next one.

A commit that reaches the disk takes far longer than the write itself. So whoever gets the turn
commits everything that is waiting, and the others find their work already done.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from inferflow.errors import StoreFailed

Work = TypeVar("Work")


class Job(Generic[Work]):
    """One caller's work. `error` is what it alone failed with."""

    __slots__ = ("error", "is_done", "work")

    def __init__(self, work: Work) -> None:
        self.work = work
        self.is_done = False
        self.error: Exception | None = None


class Committer(Generic[Work]):
    """Hands work to `commit`, one batch at a time.

    `commit` applies a batch as one unit and notes on a job what only that job failed with.
    When `commit` itself raises, nothing of the batch was applied and every caller hears of it.
    """

    def __init__(self, commit: Callable[[Sequence[Job[Work]]], None]) -> None:
        self._commit = commit
        self._waiting: list[Job[Work]] = []
        self._queue = threading.Lock()
        self._turn = threading.Lock()

    def submit(self, work: Work) -> None:
        """Return when the work is committed; raise when it is not."""
        job = Job(work)
        with self._queue:
            self._waiting.append(job)
        with self._turn:
            if not job.is_done:
                self._commit_waiting()
        if job.error is not None:
            raise job.error

    def _commit_waiting(self) -> None:
        with self._queue:
            batch, self._waiting = self._waiting, []
        failure: Exception | None = StoreFailed("the commit was interrupted")
        try:
            self._commit(batch)
            failure = None
        except Exception as failed:  # every caller of the batch hears of it, in its own thread
            failure = failed
        finally:
            for job in batch:
                job.error = job.error or failure
                job.is_done = True
