"""How much a process holds on to: memory, threads, files, and from inside tasks and scorers."""

from __future__ import annotations

import json
import signal
import statistics
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from .load import eventually

MIB = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Held:
    memory_mib: float
    threads: int
    files: int


@dataclass
class Watched:
    """A process that is looked at now and then while the test runs; see `inspected_main.py`."""

    name: str
    pid: int
    inside: Path | None = None
    """The file it tells its tasks and scorers in."""
    looks: list[Held] = field(default_factory=list)

    def look(self) -> None:
        process = psutil.Process(self.pid)
        with process.oneshot():
            memory = process.memory_info().rss / MIB
            self.looks.append(Held(memory, process.num_threads(), process.num_fds()))

    def grown(self, what: Callable[[Held], float]) -> tuple[float, float]:
        """The median of the middle third of all looks, and of the last: the first is warm-up."""
        third = len(self.looks) // 3
        values = [what(each) for each in self.looks]
        return statistics.median(values[third : 2 * third]), statistics.median(values[2 * third :])

    def counts(self) -> dict[str, int]:
        """Tasks and scorers, now."""
        assert self.inside is not None
        self.inside.unlink(missing_ok=True)
        psutil.Process(self.pid).send_signal(signal.SIGUSR1)
        eventually(lambda: self.inside and self.inside.exists() and self.inside.read_text())
        found: dict[str, int] = json.loads(self.inside.read_text())
        return found


class Looking:
    """A thread that looks at processes, `EVERY_S`."""

    EVERY_S = 0.25

    def __init__(self, watched: list[Watched]) -> None:
        self._watched = watched
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._look)
        self._thread.start()

    def _look(self) -> None:
        while not self._ends.wait(self.EVERY_S):
            for each in self._watched:
                each.look()

    def end(self) -> None:
        self._ends.set()
        self._thread.join()
