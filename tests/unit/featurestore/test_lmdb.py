"""LMDB as several processes, full disks and sudden deaths meet it."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from inferflow.errors import InvalidInput, RowRejected, StoreFailed
from inferflow.featurestore import FeatureSchema, FeatureStore, LmdbBackend, export_columns

from ...robustness.scenario import StartScenario

SMALL_MAP = 1 << 18
Writer = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def backend(tmp_path: Path) -> Iterator[LmdbBackend]:
    opened = LmdbBackend(tmp_path / "db", map_bytes=SMALL_MAP)
    yield opened
    opened.close()


def rows_by_key(store: FeatureStore) -> dict[str, int]:
    """The batch number of every row, after checking that no row mixes two of them."""
    found = export_columns(store, "item", "g")
    for number, vector, text in zip(found["number"], found["vector"], found["text"], strict=True):
        assert set(vector) == {number}
        assert text == str(number) * len(vector)
    return dict(zip(found["id"], found["number"], strict=True))


def lines(process: subprocess.Popen[str]) -> Iterator[int]:
    """The batches a writer says are committed; a line it died in does not count."""
    assert process.stdout is not None
    return (int(line) for line in process.stdout if line.endswith("\n"))


@pytest.mark.parametrize("deaths", [8, pytest.param(50, marks=pytest.mark.robustness)])
def test_sudden_death_never_loses_an_acknowledged_batch_nor_leaves_half_of_one(
    tmp_path: Path,
    backend: LmdbBackend,
    writer: Writer,
    written: FeatureSchema,
    deaths: int,
    scenario: StartScenario,
) -> None:
    tried = scenario("A16", "a writer of features killed again and again")
    seed = random.SystemRandom().randrange(2**32)
    print(f"seed {seed}")  # noqa: T201  # shown when the test fails
    chance = random.Random(seed)
    store = FeatureStore(written, backend)
    acknowledged: list[int] = []
    first = 1
    for _ in range(deaths):
        process = writer(tmp_path / "db", map_bytes=SMALL_MAP, first=first, batches=10**6, rows=20)
        heard = lines(process)
        seen = list(islice(heard, chance.randint(1, 3)))
        time.sleep(chance.uniform(0, 0.005))  # the moment of death is this test's input
        process.kill()
        seen += heard
        assert process.wait() == -signal.SIGKILL
        acknowledged += seen
        rows = rows_by_key(store)
        (latest,) = {number for key, number in rows.items() if key.startswith("k")}
        # The last batch may be there without its writer having lived to say so.
        assert latest in (seen[-1], seen[-1] + 1)
        lost = [number for number in acknowledged if rows[f"batch{number}"] != number]
        tried.none("acknowledged batch is lost or half there", lost)
        first = latest + 1


def test_another_process_sees_what_was_committed(
    tmp_path: Path, backend: LmdbBackend, writer: Writer, written: FeatureSchema
) -> None:
    store = FeatureStore(written, backend)
    process = writer(tmp_path / "db", map_bytes=SMALL_MAP, first=1, batches=3, rows=2)
    seen = 0
    for number in lines(process):
        assert rows_by_key(store)[f"batch{number}"] == number
        seen += 1
    assert (seen, process.wait()) == (3, 0)


def test_a_map_that_another_process_has_grown_is_read_and_written(
    tmp_path: Path, backend: LmdbBackend, writer: Writer, written: FeatureSchema
) -> None:
    store = FeatureStore(written, backend)
    data = tmp_path / "db" / "data.mdb"
    assert writer(data.parent, map_bytes=SMALL_MAP, first=1, batches=1, rows=9000).wait() == 0
    assert data.stat().st_size > 4 * SMALL_MAP
    assert store.get("item", "k8999")[0].value == 1
    assert writer(data.parent, map_bytes=SMALL_MAP, first=2, batches=1, rows=40000).wait() == 0
    store.put("item", "g", [{"id": "mine", "number": 7}])
    assert store.get("item", "mine")[0].value == 7
    assert sum(len(page.keys[0]) for page in store.scan("item", "g")) == 40_003


def test_the_map_grows_while_other_threads_read(tmp_path: Path, backend: LmdbBackend) -> None:
    backend.replace([b"fixed"], [b"1"])
    stop = threading.Event()
    wrong: list[object] = []

    def read() -> None:
        while not stop.is_set():
            if backend.get_many([b"fixed"]) != [b"1"]:
                wrong.append("lost")
            wrong.extend(value for _, value in backend.scan(b"fixed") if value != b"1")

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for turn in range(8):
        keys = [b"%d-%d" % (turn, row) for row in range(10)]
        backend.replace(keys, [bytes(20_000)] * 10)
    stop.set()
    for reader in readers:
        reader.join()
    assert wrong == []
    assert (tmp_path / "db" / "data.mdb").stat().st_size > 4 * SMALL_MAP


def test_one_bad_write_does_not_take_others_in_its_commit_with_it(backend: LmdbBackend) -> None:
    go, inside = threading.Event(), threading.Event()
    outcomes: dict[str, object] = {}

    def hold(_: list[bytes | None]) -> list[bytes]:
        inside.set()
        go.wait()
        return [b"first"]

    def refuse(_: list[bytes | None]) -> list[bytes]:
        raise RowRejected("test", 1, "no")

    def run(name: str, change: Callable[[list[bytes | None]], list[bytes]]) -> None:
        try:
            backend.update([name.encode()], change)
            outcomes[name] = "done"
        except RowRejected as failed:
            outcomes[name] = failed

    leader = threading.Thread(target=run, args=("leader", hold))
    leader.start()
    inside.wait()
    # These queue up while the leader holds its transaction, and share the next one.
    others = [
        threading.Thread(target=run, args=(name, refuse if name == "bad" else lambda _: [b"ok"]))
        for name in ("good", "bad", "fine")
    ]
    for other in others:
        other.start()
    go.set()
    for thread in (leader, *others):
        thread.join()
    assert isinstance(outcomes.pop("bad"), RowRejected)
    assert set(outcomes.values()) == {"done"}
    assert backend.get_many([b"leader", b"good", b"bad", b"fine"]) == [b"first", b"ok", None, b"ok"]


def test_a_directory_is_opened_once_however_it_is_spelt(tmp_path: Path) -> None:
    first = LmdbBackend(tmp_path / "db")
    (tmp_path / "link").symlink_to(tmp_path / "db")
    second = LmdbBackend(tmp_path / "link")
    first.replace([b"a"], [b"1"])
    first.close()
    first.close()
    assert second.get_many([b"a"]) == [b"1"]
    second.close()
    with pytest.raises(StoreFailed, match="closed"):
        second.get_many([b"a"])
    third = LmdbBackend(tmp_path / "db")
    assert third.get_many([b"a"]) == [b"1"]
    third.close()


def test_a_directory_that_was_deleted_and_made_anew_is_a_new_store(tmp_path: Path) -> None:
    old = LmdbBackend(tmp_path / "db")
    old.replace([b"a"], [b"old"])
    shutil.rmtree(tmp_path / "db")
    new = LmdbBackend(tmp_path / "db")
    assert new.get_many([b"a"]) == [None]
    new.replace([b"a"], [b"new"])
    assert old.get_many([b"a"]) == [b"old"]
    old.close()
    new.close()


@pytest.mark.scenario("I4")
def test_a_full_disk_fails_the_write_and_keeps_what_was_there(disk: Callable[[str], Path]) -> None:
    folder = disk("size=1m") / "db"
    backend = LmdbBackend(folder)
    backend.replace([b"before"], [b"1"])
    keys = [b"%05d" % row for row in range(5000)]
    with pytest.raises(StoreFailed, match=r"could not be written.*MB are free"):
        backend.replace(keys, [bytes(500)] * 5000)
    assert backend.get_many([b"before", keys[0], keys[-1]]) == [b"1", None, None]
    backend.replace([b"after"], [b"2"])
    assert backend.get_many([b"after"]) == [b"2"]
    backend.close()


def test_a_read_only_disk_is_refused_with_its_path(disk: Callable[[str], Path]) -> None:
    folder = disk("size=1m")
    LmdbBackend(folder / "db").close()
    disk("remount,ro")
    for name in ("db", "new"):
        with pytest.raises(InvalidInput, match=str(folder / name)):
            LmdbBackend(folder / name)


@pytest.mark.scenario("I6")
@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_directory_is_refused_with_its_path(tmp_path: Path) -> None:
    folder = tmp_path / "db"
    folder.mkdir(mode=0o500)
    with pytest.raises(InvalidInput, match=str(folder)):
        LmdbBackend(folder)


def test_a_path_that_cannot_be_a_store_is_refused_with_its_name(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("")
    damaged = tmp_path / "damaged"
    damaged.mkdir()
    (damaged / "data.mdb").write_bytes(b"not a database" * 1000)
    for path in (file, file / "below", tmp_path / "no" / "parent", damaged):
        with pytest.raises(InvalidInput, match=str(path)):
            LmdbBackend(path)
