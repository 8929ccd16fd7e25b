"""API keys of a file: looked up in memory, read again when the file changes.

A file that cannot be used any more changes nothing: the keys before stay in force, and the log
says why, once.
"""

from __future__ import annotations

import fcntl
import logging
import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from inferflow.access import KeyBook, KeyCard, KeyFile, read_keys
from inferflow.configstore.atomic import write_whole
from inferflow.errors import InvalidInput

log = logging.getLogger(__name__)

_LOOK_S = 1.0

Stamp = tuple[int, int, int]


class FileKeys:
    """Implements `access.KeySource`."""

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Raises InvalidInput when there is no such file, or no use in it."""
        self._path = path
        self._clock = clock
        self._monotonic = monotonic
        self._stamp = _stamp(path)
        self._book: KeyBook = _read(path).book()
        self._looked = monotonic()
        self._refused = ""
        """What the log was told last."""

    def __len__(self) -> int:
        return len(self._book)

    async def identify(self, key: str) -> KeyCard:
        now = self._monotonic()
        if now - self._looked >= _LOOK_S:
            self._looked = now
            self._look()
        return self._book.authenticate(key, now_ms=int(self._clock() * 1000))

    async def close(self) -> None:
        """The file is not held open."""

    def _look(self) -> None:
        try:
            stamp = _stamp(self._path)
            if stamp == self._stamp:
                return
            self._stamp = stamp
            book = _read(self._path).book()
        except InvalidInput as refused:
            if str(refused) != self._refused:
                log.warning("keys_refused", extra={"error": str(refused)})
            self._refused = str(refused)
            return
        self._book, self._refused = book, ""
        log.info("keys_changed", extra={"file": str(self._path), "count": len(book)})


@contextmanager
def editing(path: Path) -> Iterator[tuple[KeyFile | None, Callable[[KeyFile], None]]]:
    """What the file says, nothing when there is none, and a way to replace it. Nobody else edits
    it meanwhile. Only its owner may read what is written."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with (path.parent / f".{path.name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        def save(keys: KeyFile) -> None:
            write_whole(path, keys.text())
            path.chmod(0o600)

        yield (_read(path) if path.exists() else None), save


def _stamp(path: Path) -> Stamp:
    try:
        facts = os.stat(path)
    except OSError as missing:
        raise InvalidInput(
            f"auth.keys_file: {path}: {missing.strerror}; `inferflow keys create NAME"
            f" --may inference --file {path}` makes one"
        ) from missing
    return (facts.st_mtime_ns, facts.st_ino, facts.st_size)


def _read(path: Path) -> KeyFile:
    try:
        text = path.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as failed:
        raise InvalidInput(f"{path}: {failed}") from failed
    return read_keys(text, path.name)
