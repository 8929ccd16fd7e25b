"""A mirror of a real etcd, which is killed and started again under it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from inferflow.rpc.etcd import Delete, EtcdClient, Mirror, prefix_end

from ...servers.etcd import EtcdServer, put, until

START, END = b"/m/", prefix_end(b"/m/")


@pytest.fixture
def client(fragile_etcd: EtcdServer) -> Iterator[EtcdClient]:
    client = fragile_etcd.client()
    yield client
    client.close()


@pytest.fixture
def mirror(client: EtcdClient) -> Iterator[Mirror]:
    put(client, b"/m/first", b"1")
    mirror = Mirror(client, START, END, grace_s=0.05, relist_s=3600)
    assert mirror.wait(10)
    yield mirror
    mirror.close()


def held(mirror: Mirror) -> dict[bytes, bytes]:
    seen = mirror.seen()
    assert seen is not None
    return {key: entry.value for key, entry in seen.entries.items()}


def test_changes_are_seen_as_they_happen_and_others_are_not(
    client: EtcdClient, mirror: Mirror
) -> None:
    put(client, b"/other", b"x")
    put(client, b"/m/second", b"2")
    client.change([], [Delete(b"/m/first")])
    until(lambda: held(mirror) == {b"/m/second": b"2"})
    assert mirror.stale_s() == 0
    assert (mirror.resyncs, mirror.drifts) == (0, 0)


def test_nothing_is_missed_while_etcd_is_killed_and_started_again(
    fragile_etcd: EtcdServer, mirror: Mirror
) -> None:
    for round_ in range(2):
        fragile_etcd.kill()
        until(lambda: mirror.why_away)
        assert b"/m/first" in held(mirror)
        fragile_etcd.start()
        writer = fragile_etcd.client()
        for number in range(20):
            put(writer, b"/m/%d-%d" % (round_, number), b"x")
        writer.close()
        until(lambda: mirror.stale_s() == 0)
    until(lambda: len(held(mirror)) == 41)
    assert (mirror.resyncs, mirror.drifts) == (0, 0)


def test_a_mirror_that_is_not_to_follow_sees_the_beginning_only(client: EtcdClient) -> None:
    put(client, b"/m/first", b"1")
    mirror = Mirror(client, START, END, follow=False)
    assert mirror.wait(10)
    put(client, b"/m/first", b"2")
    assert client.get(b"/m/first") is not None
    assert held(mirror) == {b"/m/first": b"1"}
    mirror.close()


@pytest.mark.scenario("C5")
def test_a_listing_mends_what_no_change_has_told(client: EtcdClient) -> None:
    put(client, b"/m/first", b"1")
    mirror = Mirror(client, START, END, grace_s=0.0, relist_s=0.05)
    assert mirror.wait(10)
    mirror.learn([(b"/m/first", 3, None)])  # which never happened
    assert held(mirror) == {}
    put(client, b"/other", b"3")
    put(client, b"/other", b"4")
    until(lambda: held(mirror) == {b"/m/first": b"1"})
    until(lambda: mirror.drifts == 1)
    mirror.close()
