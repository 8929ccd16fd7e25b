"""etcd away, hung, compacted, replaced and guarded, with a mirror that must end up equal to it."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from inferflow.configstore import ServedStore, Texts
from inferflow.configstore.etcd import EtcdStore, FollowedStore
from inferflow.errors import ConfigStoreFailed
from inferflow.rpc.etcd import Delete, EtcdClient, EtcdOptions, Mirror, Put, prefix_end

from ..e2e.fault_proxy import FaultProxy
from ..servers.etcd import EtcdServer, find_etcd, put, until
from ..servers.processes import free_port
from .scenario import StartScenario

START, END = b"/m/", prefix_end(b"/m/")


@pytest.fixture
def client(fragile_etcd: EtcdServer) -> Iterator[EtcdClient]:
    client = fragile_etcd.client()
    yield client
    client.close()


@contextmanager
def mirrored(client: EtcdClient, relist_s: float = 3600) -> Iterator[Mirror]:
    mirror = Mirror(client, START, END, relist_s=relist_s)
    try:
        yield mirror
    finally:
        mirror.close()


def held(mirror: Mirror) -> dict[bytes, bytes]:
    seen = mirror.seen()
    return {} if seen is None else {key: entry.value for key, entry in seen.entries.items()}


def there(server: EtcdServer, **login: str) -> dict[bytes, bytes]:
    client = server.client(**login)
    entries = client.listing(START, END).entries
    client.close()
    return {key: entry.value for key, entry in entries.items()}


@contextmanager
def fresh(server: EtcdServer, **login: str) -> Iterator[EtcdClient]:
    """A client that has never known etcd to be away."""
    client = server.client(**login)
    try:
        yield client
    finally:
        client.close()


def took_s(holds: Callable[[], object], *, within_s: float) -> float:
    begun = time.monotonic()
    until(holds, within_s=within_s)
    return time.monotonic() - begun


def test_what_was_compacted_while_away_is_listed_again_deletes_included(
    fragile_etcd: EtcdServer, client: EtcdClient, scenario: StartScenario
) -> None:
    tried = scenario("C5", "etcd compacted while away")
    put(client, b"/m/gone", b"1")
    put(client, b"/m/kept", b"1")
    way = ["pass"]
    with FaultProxy(fragile_etcd.port, lambda _: way[0]) as proxy:
        through = EtcdClient(EtcdOptions((f"127.0.0.1:{proxy.port}",)))
        with mirrored(through) as mirror:
            assert mirror.wait(10)
            until(lambda: mirror.stale_s() == 0)
            way[0] = "refuse"
            fragile_etcd.kill()
            until(lambda: mirror.why_away)
            fragile_etcd.start()
            with fresh(fragile_etcd) as writer:
                writer.change([], [Delete(b"/m/gone")])
                for number in range(20):
                    put(writer, b"/m/kept", b"%d" % number)
                writer.compact(writer.change([], [Put(b"/m/new", b"1")]))
            assert set(held(mirror)) == {b"/m/gone", b"/m/kept"}
            way[0] = "pass"
            expected = {b"/m/kept": b"19", b"/m/new": b"1"}
            until(lambda: held(mirror) == expected, within_s=10)
            tried.holds("one resync for a compaction", mirror.resyncs, mirror.resyncs == 1)
        through.close()


def test_a_hung_etcd_is_noticed_and_costs_no_reader_anything(
    fragile_etcd: EtcdServer, client: EtcdClient, scenario: StartScenario
) -> None:
    tried = scenario("C10", "etcd hangs")
    put(client, b"/m/a", b"1")
    with mirrored(client) as mirror:
        assert mirror.wait(10)
        until(lambda: mirror.stale_s() == 0)
        fragile_etcd.pause()
        try:
            begun = time.monotonic()
            assert held(mirror) == {b"/m/a": b"1"}
            tried.at_most("a reader waits", time.monotonic() - begun, 0.5, " s")
            tried.at_most("noticed after", took_s(lambda: mirror.why_away, within_s=20), 15, " s")
        finally:
            fragile_etcd.resume()
        until(lambda: mirror.stale_s() == 0)
        with fresh(fragile_etcd) as writer:
            put(writer, b"/m/b", b"1")
        until(lambda: held(mirror) == {b"/m/a": b"1", b"/m/b": b"1"})


def test_a_hung_member_is_left_for_one_that_answers(
    fragile_etcd: EtcdServer, scenario: StartScenario
) -> None:
    tried = scenario("C10", "one of two etcd members hangs")
    other = EtcdServer(find_etcd())
    client = EtcdClient(EtcdOptions((fragile_etcd.address, other.address), dial_timeout_s=1))
    fragile_etcd.pause()
    try:
        with tried.timed("the other is asked", 10):
            until(lambda: _answers(client), within_s=10)
    finally:
        fragile_etcd.resume()
        client.close()
        other.stop()


def _answers(client: EtcdClient) -> bool:
    try:
        client.get(b"x")
    except Exception:
        return False
    return True


def test_what_was_written_while_etcd_crashed_is_what_is_mirrored(
    fragile_etcd: EtcdServer, client: EtcdClient, scenario: StartScenario
) -> None:
    """Writers hammer, etcd is killed again and again; what it has in the end is what counts."""
    tried = scenario("C13", "etcd killed four times under three writers")
    stop = threading.Event()

    def write(name: int) -> None:
        number = 0
        while not stop.is_set():
            with fresh(fragile_etcd) as writer:
                try:
                    while not stop.is_set():
                        number += 1
                        key = b"/m/%d-%d" % (name, number % 50)
                        change = Delete(key) if number % 7 == 0 else Put(key, b"%d" % number)
                        writer.change([], [change])
                except Exception:  # away: that is what this is about
                    stop.wait(0.05)

    writers = [threading.Thread(target=write, args=(name,)) for name in range(3)]
    with mirrored(client) as mirror:
        assert mirror.wait(10)
        for writer in writers:
            writer.start()
        for _ in range(4):
            until(lambda: mirror.stale_s() == 0)
            before = held(mirror)
            until(lambda before=before: held(mirror) != before)
            fragile_etcd.kill()
            until(lambda: mirror.why_away)
            fragile_etcd.start()
        until(lambda: mirror.stale_s() == 0)
        stop.set()
        for writer in writers:
            writer.join()
        expected = there(fragile_etcd)
        assert expected
        with tried.timed("what is served is what etcd has", 5):
            until(lambda: held(mirror) == expected, within_s=5)
        tried.at_most("differences a listing had to mend", mirror.drifts, 0)


def test_an_etcd_that_lost_its_data_is_believed_at_the_next_listing(
    fragile_etcd: EtcdServer, client: EtcdClient, scenario: StartScenario
) -> None:
    tried = scenario("C12", "etcd comes back without its data, listed every half second")
    for number in range(10):
        put(client, b"/m/a", b"%d" % number)
    with mirrored(client, relist_s=0.5) as mirror:
        assert mirror.wait(10)
        fragile_etcd.kill()
        fragile_etcd.forget()
        fragile_etcd.start()
        with fresh(fragile_etcd) as writer:
            put(writer, b"/m/b", b"1")
        with tried.timed("believed, whole", 5):
            until(lambda: held(mirror) == {b"/m/b": b"1"})
        with fresh(fragile_etcd) as writer:
            put(writer, b"/m/c", b"1")
        until(lambda: set(held(mirror)) == {b"/m/b", b"/m/c"})


# --- logins ---------------------------------------------------------------------------------


@pytest.fixture
def guarded() -> Iterator[EtcdServer]:
    """Forgets logins after two seconds."""
    server = EtcdServer(find_etcd(), "--auth-token-ttl", "2")
    server.ctl("user", "add", "root:secret")
    server.ctl("user", "grant-role", "root", "root")
    server.ctl("role", "add", "reader")
    server.ctl("role", "grant-permission", "reader", "read", "/m/", "--prefix")
    server.ctl("user", "add", "ann:secret")
    server.ctl("user", "grant-role", "ann", "reader")
    server.ctl("auth", "enable")
    yield server
    server.stop()


ROOT = {"username": "root", "password": "secret"}


def test_a_login_that_expired_or_was_forgotten_is_made_again(
    guarded: EtcdServer, scenario: StartScenario
) -> None:
    tried = scenario("C9", "an etcd login of two seconds expires, and is forgotten over a restart")
    with fresh(guarded, **ROOT) as root, mirrored(root) as mirror:
        assert mirror.wait(10)
        put(root, b"/m/a", b"1")
        expired = time.monotonic() + 4
        until(lambda: time.monotonic() > expired)
        put(root, b"/m/b", b"1")
        with tried.timed("a change after it expired is seen", 2):
            until(lambda: set(held(mirror)) == {b"/m/a", b"/m/b"})
        guarded.kill()
        until(lambda: mirror.why_away)
        guarded.start()
        until(lambda: mirror.stale_s() == 0)
        with fresh(guarded, **ROOT) as writer:
            put(writer, b"/m/c", b"1")
        with tried.timed("a change after the restart is seen", 2):
            until(lambda: set(held(mirror)) == {b"/m/a", b"/m/b", b"/m/c"})


def test_rights_that_are_taken_away_leave_what_was_seen_and_come_back(
    guarded: EtcdServer, scenario: StartScenario
) -> None:
    tried = scenario("C9", "an etcd user loses its rights")
    login = {"username": "ann", "password": "secret"}
    as_root = ("--user", "root:secret")
    with (
        fresh(guarded, **ROOT) as root,
        fresh(guarded, **login) as ann,
        mirrored(ann, relist_s=0.3) as mirror,
    ):
        put(root, b"/m/a", b"1")
        until(lambda: held(mirror) == {b"/m/a": b"1"})
        guarded.ctl(*as_root, "user", "revoke-role", "ann", "reader")
        until(lambda: "permission denied" in mirror.why_away)
        kept = held(mirror)
        tried.holds("what was known stays", f"{len(kept)} of 1", kept == {b"/m/a": b"1"})
        guarded.ctl(*as_root, "user", "grant-role", "ann", "reader")
        put(root, b"/m/b", b"1")
        until(lambda: set(held(mirror)) == {b"/m/a", b"/m/b"})


# --- stores ---------------------------------------------------------------------------------

INNER = json.dumps({"response_config": {"features": ["a"]}}).encode()


def served(folder: Path) -> ServedStore:
    return ServedStore(folder, Texts(folder / "texts"))


def test_a_command_without_etcd_fails_at_once_with_the_address(scenario: StartScenario) -> None:
    address = f"127.0.0.1:{free_port()}"
    store = EtcdStore(EtcdClient(EtcdOptions((address,))), "shop")
    begun = time.monotonic()
    with pytest.raises(ConfigStoreFailed, match=address):
        store.current()
    tried = scenario("C2", "a command without etcd")
    tried.at_most("it says so after", time.monotonic() - begun, 5, " s")
    store.close()


def test_ten_thousand_configs_are_read_in_seconds_and_bursts_are_followed(
    fragile_etcd: EtcdServer, client: EtcdClient, tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("C11", "10 000 configs in etcd")
    prefix = b"/config/inferflow/services/shop/model-config/config-map/"
    for at in range(0, 10_000, 100):
        client.change([], [Put(prefix + b"%05d" % n, INNER) for n in range(at, at + 100)])
    begun = time.monotonic()
    followed = FollowedStore(fragile_etcd.client(), "shop", served(tmp_path))
    assert len(followed.current().documents) == 10_000
    tried.at_most("read in", time.monotonic() - begun, 10, " s")
    for number in range(1000):
        put(client, prefix + b"00000", INNER + b" " * number)
    last = (INNER + b" " * 999).decode()
    seen_s = took_s(lambda: followed.current().documents["00000"].text == last, within_s=30)
    tried.at_most("1 000 writes seen after", seen_s, 2, " s")
    assert (followed.mirror.resyncs, followed.mirror.drifts) == (0, 0)
    followed.close()
