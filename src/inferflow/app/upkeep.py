"""Small regular work beside the requests, such as unloading idle models."""

from __future__ import annotations

import threading
from collections.abc import Callable


class Upkeep:
    """Calls something every so often, on a thread of its own, until closed."""

    def __init__(self, work: Callable[[], object], every_s: float) -> None:
        self._work = work
        self._every_s = every_s
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="inferflow-upkeep", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._closing.wait(self._every_s):
            self._work()

    def close(self) -> None:
        self._closing.set()
        self._thread.join()
