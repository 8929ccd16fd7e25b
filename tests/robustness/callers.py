"""Callers of a project of `versions.py` that keep every answer, to be looked through later."""

from __future__ import annotations

import random
import threading
import time

import inferflow
from inferflow.errors import NotFound

from .invariants import Answer
from .load import eventually
from .versions import COLUMN

CALLERS = 4


class Callers:
    """They ask for books of their own, without a pause, and keep all they got."""

    def __init__(self, ports: list[int], books: list[str]) -> None:
        self.answers: list[Answer] = []
        """Those without marks."""
        self.marks: list[str] = []
        self.failures: list[str] = []
        self._addresses = [f"127.0.0.1:{port}" for port in ports]
        self._books = books
        self._ends = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(CALLERS)]
        for thread in self._threads:
            thread.start()

    def _ask(self, number: int) -> None:
        chance = random.Random(number)
        with inferflow.connect(self._addresses, deadline_ms=30_000) as client:
            while not self._ends.is_set():
                asked = chance.sample(self._books, 1 + number)
                began = time.monotonic()
                try:
                    found = client.score("ranker", entities={"user": "ada", "book": asked})
                except NotFound:
                    self.answers.append(Answer(began, time.monotonic(), asked, {}))
                except Exception as failed:
                    self.failures.append(repr(failed))
                else:
                    self._keep(began, asked, found)

    def _keep(self, began: float, asked: list[str], found: inferflow.Scores) -> None:
        if any(found.errors):
            self.marks += filter(None, found.errors)
            return
        columns = {
            name.removeprefix(COLUMN): [float(value) for value in values]
            for name, values in found.columns.items()
            if name.startswith(COLUMN)
        }
        self.answers.append(
            Answer(began, time.monotonic(), asked, columns, found.config_version or "")
        )

    def more(self, count: int) -> None:
        goal = len(self.answers) + count
        eventually(lambda: len(self.answers) >= goal)

    def wait_for(self, version: int) -> None:
        """Until one answer is of this version."""
        eventually(lambda: any(str(version) in each.columns for each in self.answers[-50:]))

    def end(self) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()
