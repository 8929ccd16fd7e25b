"""Brings one model into memory and says how much of it that took. Runs on a thread.

The size of the files is the first estimate, for it is known before anything is loaded. What the
process has grown by is the second, kept per digest. It is taken only while no other load goes on,
and not for the first model, which brings the runtime's own memory with it.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from dataclasses import dataclass

from inferflow.errors import ModelUnreadable
from inferflow.serving.runtime.port import LoadedModel, LoadOptions, Runtime
from inferflow.serving.runtime.repository import ModelFile
from inferflow.serving.worker.crashes import CrashLedger
from inferflow.serving.worker.source import ModelSource


@dataclass(frozen=True, slots=True)
class Loaded:
    model: LoadedModel
    memory_bytes: int


class Loader:
    def __init__(
        self,
        source: ModelSource,
        runtime: Runtime,
        crashes: CrashLedger | None,
        process_bytes: Callable[[], int],
    ) -> None:
        self._source = source
        self._runtime = runtime
        self._crashes = crashes
        self._process_bytes = process_bytes
        self._measured: dict[str, int] = {}
        self._lock = threading.Lock()
        self._under_way = 0
        self._loads = 0

    def fetch(self, model: str, version: str) -> tuple[ModelFile, int]:
        """A version's files and how much memory they will take. Raises NotFound or others."""
        file = self._source.fetch(model, version)
        return file, self._measured.get(file.digest) or _file_bytes(file)

    def load(self, file: ModelFile, options: LoadOptions) -> Loaded:
        """Raises ModelUnreadable, ModelUnavailable or InvalidInput."""
        if self._crashes is not None:
            self._crashes.begin(file)
        try:
            return self._load(file, options)
        finally:
            if self._crashes is not None:
                self._crashes.end(file)

    def _load(self, file: ModelFile, options: LoadOptions) -> Loaded:
        alone = self._enter()
        before = self._process_bytes()
        try:
            model = self._runtime.load(file, options)
        finally:
            alone = self._leave() and alone
        if self._source.fetch(file.model, file.version).digest != file.digest:
            hint = "load it again once the files are in place"
            raise ModelUnreadable(file.label, f"{file.where} changed while it was loaded", hint)
        self._loads += 1
        grown = self._process_bytes() - before if alone and self._loads > 1 else 0
        memory = max(_file_bytes(file), grown)
        self._measured[file.digest] = memory
        return Loaded(model, memory)

    def _enter(self) -> bool:
        with self._lock:
            self._under_way += 1
            return self._under_way == 1

    def _leave(self) -> bool:
        with self._lock:
            self._under_way -= 1
            return self._under_way == 0


def _file_bytes(file: ModelFile) -> int:
    return sum(each.stat().st_size for each in file.path.parent.rglob("*") if each.is_file())


def memory_of_process() -> int:
    """What this process has in memory; 0 where that cannot be known."""
    try:
        with open("/proc/self/statm", "rb") as opened:
            return int(opened.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
