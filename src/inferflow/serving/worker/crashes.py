"""Remembers, across restarts, which models ended the process while they were loaded.

A mark is written before a load and removed after it. A mark that a new process finds is a load that
nobody survived; that model is left alone for longer and longer, and the others are served.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

from inferflow.errors import ModelUnavailable
from inferflow.serving.runtime.repository import ModelFile
from inferflow.serving.worker.backoff import retry_delay_s


class CrashLedger:
    def __init__(self, folder: Path, wall_clock: Callable[[], float]) -> None:
        self._folder = folder
        self._wall_clock = wall_clock

    def begin(self, file: ModelFile) -> None:
        """Raises ModelUnavailable when a load of this file has just ended a process."""
        now, mark = self._wall_clock(), self._mark(file)
        crashes, last = _read(mark)
        wait_s = last + retry_delay_s(crashes) - now
        if crashes and wait_s > 0:
            why = f"loading it has ended the worker {crashes} time(s)"
            raise ModelUnavailable(file.label, why, retry_after_ms=int(wait_s * 1000))
        self._folder.mkdir(parents=True, exist_ok=True)
        written = {"crashes": crashes + 1, "at": now, "pid": os.getpid()}
        fresh = mark.with_suffix(".new")
        fresh.write_text(json.dumps(written))
        os.replace(fresh, mark)

    def end(self, file: ModelFile) -> None:
        self._mark(file).unlink(missing_ok=True)

    def _mark(self, file: ModelFile) -> Path:
        return self._folder / file.digest


def _read(mark: Path) -> tuple[int, float]:
    """Crashes so far and when the last load began; none for a load that is going on."""
    try:
        found = json.loads(mark.read_text())
        crashes, at, pid = int(found["crashes"]), float(found["at"]), int(found["pid"])
    except FileNotFoundError:
        return 0, 0.0
    except (OSError, ValueError, KeyError, TypeError):
        return 1, 0.0  # half a mark is a mark
    return (crashes - 1, 0.0) if _is_alive(pid) else (crashes, at)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
