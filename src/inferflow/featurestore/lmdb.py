"""Rows in an LMDB file: shared by several processes, durable at every commit.

Readers never wait for writers. Values are copied out inside the read transaction, so nothing
handed out points into the map. A process opens each directory once, however many backends
look at it. The map grows when it is full, here or in another process; that is the only time
readers have to step outside for a moment.
"""

from __future__ import annotations

import operator
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

from inferflow.errors import InvalidInput, StoreFailed
from inferflow.featurestore.backend import Change, Rows
from inferflow.featurestore.commits import Committer, Job
from inferflow.featurestore.gate import Gate

DEFAULT_MAP_BYTES = 1 << 30
"""Address space to begin with. The file itself only takes what is written."""
_MAX_READERS = 1024
_SCAN_PAGE = 1000
_DATA_FILE = "data.mdb"

Found = TypeVar("Found")


class LmdbBackend:
    """The rows in one directory. The directory is created when its parent is there."""

    def __init__(self, path: str | Path, *, map_bytes: int = DEFAULT_MAP_BYTES) -> None:
        self._map: _Map | None = _Map.shared(Path(path), map_bytes)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return (self._map or self._open).get_many(keys)

    def replace(self, keys: Sequence[bytes], rows: Rows) -> None:
        self._open.commits.submit(_Write(keys, lambda _: rows, is_blind=True))

    def update(self, keys: Sequence[bytes], change: Change) -> None:
        self._open.commits.submit(_Write(keys, change, is_blind=False))

    def scan(self, prefix: bytes) -> Iterator[tuple[bytes, bytes]]:
        # In pages: a transaction held by a slow consumer would keep old pages from reuse.
        start = prefix
        while page := self._open.page(prefix, start):
            yield from page
            start = page[-1][0] + b"\0"

    def copy_to(self, folder: Path) -> None:
        """Write the rows as they are at one moment to a new store in an empty folder. Readers and
        writers go on meanwhile."""
        self._open.copy_to(folder)

    def close(self) -> None:
        if self._map is not None:
            self._map.release()
            self._map = None

    @property
    def _open(self) -> _Map:
        if self._map is None:
            raise StoreFailed("the feature store is closed")
        return self._map


class _Write(NamedTuple):
    keys: Sequence[bytes]
    change: Change
    is_blind: bool
    """True when `change` does not look at the old rows."""


_Identity = tuple[int, int, int]


def _identity(path: Path) -> _Identity:
    """What makes a store the same one to this process, however its path is written.

    Of the file, which is kept open: a directory that is deleted and made anew may look like
    the old one.
    """
    found = (path / _DATA_FILE).stat()
    return os.getpid(), found.st_dev, found.st_ino


class _Map:
    """One memory map, which this process must not open twice."""

    _known: ClassVar[dict[_Identity, _Map]] = {}
    _registry: ClassVar[threading.Lock] = threading.Lock()

    def __init__(self, path: Path, map_bytes: int) -> None:
        import lmdb

        self._lmdb: Any = lmdb
        self._path = path
        self._users = 0
        self._gate = Gate()
        self.commits: Committer[_Write] = Committer(self._commit)
        try:
            self._env: Any = lmdb.open(
                str(path), map_size=map_bytes, max_readers=_MAX_READERS, writemap=False
            )
            self._env.reader_check()  # slots of processes that died while reading
            self._identity = _identity(path)
        except (lmdb.Error, OSError) as refused:
            raise InvalidInput(
                f"{path}: the feature store cannot be opened: {refused}"
            ) from refused

    @classmethod
    def shared(cls, path: Path, map_bytes: int) -> _Map:
        """This process's map of a directory. A forked child gets its own."""
        try:
            path.mkdir(exist_ok=True)
            with cls._registry:
                is_there = (path / _DATA_FILE).exists()
                found = cls._known.get(_identity(path)) if is_there else None
                if found is None:
                    found = cls(path, map_bytes)
                    cls._known[found._identity] = found
                found._users += 1
                return found
        except OSError as refused:
            why = refused.strerror or refused
            raise InvalidInput(f"{path}: no feature store can be kept here: {why}") from refused

    def release(self) -> None:
        with self._registry:
            self._users -= 1
            if self._users == 0:
                del self._known[self._identity]
                with self._gate.alone():
                    self._env.close()

    # --- reading ----------------------------------------------------------------------------

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        # Of begin-per-call or a kept transaction, get, getmulti or a cursor, copies or buffers,
        # this was the fastest for 100 rows of 100 bytes: starting a transaction is 0.3 µs.
        gate = self._gate
        gate.enter()
        try:
            with self._env.begin() as transaction:
                return list(map(transaction.get, keys))
        except self._lmdb.Error:
            pass  # what to do about it is known below
        finally:
            gate.leave()
        return self._read(lambda transaction: list(map(transaction.get, keys)))

    def page(self, prefix: bytes, start: bytes) -> list[tuple[bytes, bytes]]:
        """The first records under a prefix, from a key on."""
        return self._read(lambda transaction: _page(transaction, prefix, start))

    def copy_to(self, folder: Path) -> None:
        self._read(lambda transaction: self._env.copy(str(folder), compact=True, txn=transaction))

    def _read(self, read: Callable[[Any], Found]) -> Found:
        while True:
            self._gate.enter()
            try:
                with self._env.begin() as transaction:
                    return read(transaction)
            except self._lmdb.MapResizedError:
                pass
            except self._lmdb.Error as failed:
                raise self._failed("read", failed) from failed
            finally:
                self._gate.leave()
            self._adopt_growth()

    # --- writing ----------------------------------------------------------------------------

    def _commit(self, jobs: Sequence[Job[_Write]]) -> None:
        while True:
            self._gate.enter()
            try:
                return self._commit_once(jobs)
            except self._lmdb.MapFullError:
                resize = self._grow
            except self._lmdb.MapResizedError:
                resize = self._adopt_growth
            except self._lmdb.Error as failed:
                raise self._failed("written", failed) from failed
            finally:
                self._gate.leave()
            resize()

    def _commit_once(self, jobs: Sequence[Job[_Write]]) -> None:
        with self._writing() as transaction:
            if len(jobs) == 1:
                _apply(transaction, jobs[0].work)
                return
            for job in jobs:
                job.error = None
                try:
                    with self._writing(parent=transaction) as part:
                        _apply(part, job.work)
                except self._lmdb.Error:
                    raise
                except Exception as failed:  # of this job alone: its part is rolled back
                    job.error = failed

    @contextmanager
    def _writing(self, parent: Any = None) -> Iterator[Any]:
        transaction = self._env.begin(write=True, parent=parent)
        try:
            yield transaction
            transaction.commit()
        except BaseException:
            # py-lmdb lets an abort wait for every call in flight, and among busy readers
            # there is always one. So they are asked to wait outside.
            with self._gate.alone():
                transaction.abort()
            raise

    def _grow(self) -> None:
        self._resize(2 * int(self._env.info()["map_size"]))

    def _adopt_growth(self) -> None:
        self._resize(0)

    def _resize(self, size: int) -> None:
        """Give the map a new size; 0 takes the size another process has given it."""
        try:
            with self._gate.alone():
                self._env.set_mapsize(size)
        except self._lmdb.Error as failed:
            raise self._failed("mapped", failed) from failed

    def _failed(self, what: str, failed: Exception) -> StoreFailed:
        free_mb = shutil.disk_usage(self._path).free / 1e6
        return StoreFailed(
            f"{self._path}: feature rows could not be {what}: {failed}"
            f" ({free_mb:,.1f} MB are free on this disk)"
        )


def _page(transaction: Any, prefix: bytes, start: bytes) -> list[tuple[bytes, bytes]]:
    found: list[tuple[bytes, bytes]] = []
    cursor = transaction.cursor()
    if cursor.set_range(start):
        for item in cursor:
            if len(found) == _SCAN_PAGE or not item[0].startswith(prefix):
                break
            found.append(item)
    return found


def _apply(transaction: Any, write: _Write) -> None:
    old = [] if write.is_blind else list(map(transaction.get, write.keys))
    puts: list[tuple[bytes, bytes]] = []
    for key, row in zip(write.keys, write.change(old), strict=True):
        if row is None:
            transaction.delete(key)
        else:
            puts.append((key, row))
    puts.sort(key=operator.itemgetter(0))  # a page is filled before the next is touched
    with transaction.cursor() as cursor:
        cursor.putmulti(puts)
