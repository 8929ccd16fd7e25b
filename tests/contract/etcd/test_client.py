"""The client against a real etcd."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from inferflow.errors import InvalidInput, RemoteFailed, Unreachable
from inferflow.rpc.etcd import Delete, EtcdClient, EtcdOptions, Put, Same, prefix_end
from inferflow.rpc.etcd.client import PAGE

from ...servers.etcd import EtcdServer, put
from ...servers.processes import free_port


@pytest.fixture
def client(etcd: EtcdServer) -> Iterator[EtcdClient]:
    client = etcd.client()
    yield client
    client.close()


@pytest.fixture
def key(etcd: EtcdServer) -> bytes:
    return f"/{etcd.new_app()}/".encode()


def test_a_key_is_read_as_it_was_written(client: EtcdClient, key: bytes) -> None:
    assert client.get(key) is None
    revision = client.change([], [Put(key, b"\x00\xff")])
    entry = client.get(key)
    assert entry is not None
    assert (entry.value, entry.revision) == (b"\x00\xff", revision)


def test_a_range_is_read_whole_whatever_its_size(client: EtcdClient, key: bytes) -> None:
    names = [key + b"%05d" % number for number in range(PAGE + 10)]
    for at in range(0, len(names), 100):
        client.change([], [Put(each, b"x") for each in names[at : at + 100]])
    listing = client.listing(key, prefix_end(key))
    assert sorted(listing.entries) == names
    bare = client.listing(key, prefix_end(key), keys_only=True)
    assert {each: entry.revision for each, entry in bare.entries.items()} == {
        each: entry.revision for each, entry in listing.entries.items()
    }
    assert {entry.value for entry in bare.entries.values()} == {b""}


def test_a_change_happens_whole_or_not_at_all(client: EtcdClient, key: bytes) -> None:
    a, b = key + b"a", key + b"b"
    revision = client.change([Same(a, 0)], [Put(a, b"1"), Put(b, b"1")])
    assert revision
    assert client.change([Same(a, 0)], [Put(a, b"2"), Delete(b)]) == 0
    assert client.change([Same(a, revision), Same(b, revision - 1)], [Delete(a)]) == 0
    assert set(client.listing(key, prefix_end(key)).entries) == {a, b}
    assert client.change([Same(a, revision), Same(b, revision)], [Delete(a)])
    assert set(client.listing(key, prefix_end(key)).entries) == {b}


def test_keys_of_a_lease_go_with_it(client: EtcdClient, key: bytes) -> None:
    lease = client.grant(60)
    client.change([], [Put(key, b"x", lease)])
    assert client.keep(lease)
    client.revoke(lease)
    assert client.get(key) is None
    assert not client.keep(lease)


def test_a_value_that_is_too_large_is_the_callers_to_mend(client: EtcdClient, key: bytes) -> None:
    with pytest.raises(InvalidInput, match="no value as large"):
        client.change([], [Put(key, b"x" * (2 << 20))])
    assert client.get(key) is None


def test_what_etcd_does_not_understand_is_told_in_its_words(client: EtcdClient) -> None:
    with pytest.raises(RemoteFailed, match="required revision is a future revision"):
        client.compact(1 << 40)


def test_nobody_at_the_address_is_told_with_it() -> None:
    address = f"127.0.0.1:{free_port()}"
    client = EtcdClient(EtcdOptions((address,)))
    with pytest.raises(Unreachable, match=address):
        client.get(b"x")
    client.close()


def test_a_member_that_is_not_there_is_passed_over(etcd: EtcdServer, key: bytes) -> None:
    client = EtcdClient(EtcdOptions((f"127.0.0.1:{free_port()}", etcd.address)))
    put(client, key, b"x")
    assert client.get(key) is not None
    client.close()


def test_a_login_is_not_asked_for_where_etcd_wants_none(etcd: EtcdServer, key: bytes) -> None:
    client = etcd.client(username="ann", password="secret")
    put(client, key, b"x")
    client.close()
