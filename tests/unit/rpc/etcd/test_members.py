"""Which member of etcd is asked."""

from __future__ import annotations

from pathlib import Path

import pytest

from inferflow.errors import InvalidInput
from inferflow.rpc.etcd import EtcdOptions
from inferflow.rpc.etcd.members import Members


def members(*endpoints: str) -> Members:
    return Members(EtcdOptions(endpoints))


@pytest.mark.parametrize(
    "endpoint", ["etcd", "etcd:2379", "http://etcd:2379", "http://etcd:2379/", "[::1]:2379"]
)
def test_an_endpoint_is_written_as_people_write_it(endpoint: str) -> None:
    members(endpoint).close()


@pytest.mark.parametrize("endpoint", ["ftp://etcd", "http://", ":2379", "etcd:0"])
def test_what_is_no_endpoint_is_refused(endpoint: str) -> None:
    with pytest.raises(InvalidInput):
        members(endpoint)


def test_without_endpoints_it_says_what_to_set() -> None:
    with pytest.raises(InvalidInput, match="ETCD_ENDPOINTS"):
        members()


def test_secret_and_open_endpoints_are_not_mixed() -> None:
    with pytest.raises(InvalidInput, match="either all endpoints use https or none"):
        members("http://a", "https://b")


def test_a_certificate_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    missing = str(tmp_path / "ca.pem")
    with pytest.raises(InvalidInput, match=r"ca\.pem: cannot be read"):
        Members(EtcdOptions(("https://a",), ca_file=missing))


def test_a_member_is_asked_until_it_fails_and_then_the_next() -> None:
    three = members("a", "b", "c")
    assert [three.current()[2], three.current()[2]] == ["a", "a"]
    three.skip(0)
    three.skip(0)  # two calls failed on the same member: that is one reason to leave it
    assert three.current()[2] == "b"
    three.skip(1)
    three.skip(2)
    assert three.current()[2] == "a"
    three.close()


def test_a_password_is_not_printed() -> None:
    assert "secret" not in repr(EtcdOptions(("a",), username="ann", password="secret"))
