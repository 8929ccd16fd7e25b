"""Callers of a fleet that never stop, with every answer checked."""

from __future__ import annotations

import threading

import numpy as np

from inferflow.client.sdk.sync import FleetClient

from .load import eventually


class FleetLoad:
    """Asks a model that multiplies, each caller with numbers of its own."""

    def __init__(self, client: FleetClient, model: str, *, factor: int, callers: int = 4) -> None:
        self._client = client
        self._model = model
        self._factor = factor
        self._ends = threading.Event()
        self.answers = 0
        self.failures: list[str] = []
        """Wrong answers too."""
        self._threads = [threading.Thread(target=self._ask, args=(n,)) for n in range(callers)]
        for thread in self._threads:
            thread.start()

    def _ask(self, number: int) -> None:
        sent = np.full((1, 2), number + 1, np.float32)
        while not self._ends.is_set():
            try:
                got = self._client.infer(self._model, {"x": sent})["y"]
                assert (got == self._factor * sent).all(), f"{sent} became {got}"
                self.answers += 1
            except Exception as failed:
                self.failures.append(repr(failed))

    def more(self, count: int) -> None:
        """Until so many more were answered, or one failed."""
        goal = self.answers + count
        eventually(lambda: self.answers >= goal or self.failures)

    def end(self) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join()
