"""A backup taken while everything is written to holds one moment of each store."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count
from pathlib import Path

from inferflow.access import OPERATOR, Permission
from inferflow.app.backup import restore_backup
from inferflow.configstore import DirectoryStore
from inferflow.configstore.versions import Draft
from inferflow.featurestore.lmdb import LmdbBackend
from inferflow.serving.manager.keys import KeyOrder
from inferflow.serving.manager.services import open_services

from ....robustness.scenario import StartScenario
from .conftest import Take

KEYS = [f"k{number}".encode() for number in range(50)]


class Acknowledged:
    """How many writes were confirmed; a test waits for the next instead of a time."""

    def __init__(self) -> None:
        self.number = 0
        self._news = threading.Condition()

    def add(self) -> None:
        with self._news:
            self.number += 1
            self._news.notify_all()

    def wait_for(self, number: int) -> None:
        with self._news:
            assert self._news.wait_for(lambda: self.number >= number, timeout=60)


@contextmanager
def writing(
    write: Callable[[Callable[[], bool], Acknowledged], None],
) -> Iterator[Acknowledged]:
    """A thread that goes on writing until the block ends."""
    end, done = threading.Event(), Acknowledged()
    thread = threading.Thread(target=write, args=(end.is_set, done))
    thread.start()
    try:
        yield done
    finally:
        end.set()
        thread.join()


def test_each_store_comes_back_as_of_one_moment(
    project: Path, take: Take, tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("K6", "a backup while features, configs and keys are written")
    state = project / ".inferflow"
    (state / "manager").mkdir(parents=True)
    (state / "manager/secret").write_text("ab" * 32)
    text = (project / "configs/ranker.yaml").read_text()

    def put_rows(is_over: Callable[[], bool], done: Acknowledged) -> None:
        backend = LmdbBackend(state / "features")
        for number in count(1):
            if is_over():
                break
            backend.replace(KEYS, [str(number).encode() * 40] * len(KEYS))
            done.add()
        backend.close()

    def push_configs(is_over: Callable[[], bool], done: Acknowledged) -> None:
        store = DirectoryStore(project / "configs", state / "configs")
        for number in count(1):
            if is_over():
                break
            store.push(Draft("ranker", f"{text}# {number}\n", "yaml", "ann"))
            done.add()

    def make_keys(is_over: Callable[[], bool], done: Acknowledged) -> None:
        async def main() -> None:
            services = await open_services(
                state / "manager/registry.db", state / "manager/files", b"\xab" * 32, lambda: 1.0
            )
            while not is_over():
                order = KeyOrder(f"key {done.number}", [Permission.INFERENCE])
                await services.keys.create(OPERATOR, order)
                done.add()
            await services.close()

        asyncio.run(main())

    with writing(put_rows) as rows, writing(push_configs) as configs, writing(make_keys) as keys:
        for part in (rows, configs, keys):
            part.wait_for(5)
        known = rows.number, configs.number, keys.number
        taken = take()
        for part, before in zip((rows, configs, keys), known, strict=True):
            part.wait_for(before + 1)  # nobody was kept waiting for good

    made = restore_backup(taken.file, tmp_path / "copy").root
    check_rows(made, at_least=known[0])
    check_configs(made, text, at_least=known[1])
    check_keys(made, at_least=known[2])
    tried.shown("each store as of one moment", f"after {sum(known)} writes")


def check_rows(made: Path, *, at_least: int) -> None:
    backend = LmdbBackend(made / ".inferflow/features")
    found = {bytes(row or b"") for row in backend.get_many(KEYS)}
    backend.close()
    (row,) = found  # all fifty of one write
    assert int(row[: len(row) // 40]) >= at_least


def check_configs(made: Path, text: str, *, at_least: int) -> None:
    store = DirectoryStore(made / "configs", made / ".inferflow/configs")
    numbers = [version.number for version in store.history("ranker")]
    latest = store.history("ranker")[-1]
    assert len(numbers) >= at_least
    assert numbers == list(range(1, len(numbers) + 1))
    assert store.text(latest) == store.get("ranker").text


def check_keys(made: Path, *, at_least: int) -> None:
    with closing(sqlite3.connect(made / ".inferflow/manager/registry.db")) as database:
        (keys,) = database.execute("SELECT count(*) FROM api_keys").fetchone()
        (told,) = database.execute(
            "SELECT count(*) FROM audit WHERE action = 'key created'"
        ).fetchone()
        assert database.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert keys == told >= at_least
