"""Who may look inside."""

from __future__ import annotations

import pytest

from inferflow.api.insight import insight, peer_host

HERE = ["127.0.0.1", "127.8.0.1", "::1", "::ffff:127.0.0.1", "localhost"]
ELSEWHERE = ["10.0.0.7", "::ffff:10.0.0.7", "2001:db8::1", "", "somewhere"]


@pytest.mark.parametrize("host", HERE)
def test_callers_on_this_machine_may_look_unless_it_is_off(host: str) -> None:
    assert insight("loopback")(host) == ""
    assert "off" in insight("off")(host)


@pytest.mark.parametrize("host", ELSEWHERE)
def test_others_may_look_only_when_it_is_on(host: str) -> None:
    assert "own machine" in insight("loopback")(host)
    assert "off" in insight("off")(host)
    assert insight("on")(host) == ""


@pytest.mark.parametrize(
    ("peer", "host"),
    [
        ("ipv4:10.0.0.7:5000", "10.0.0.7"),
        ("ipv6:%5B::1%5D:5000", "::1"),
        ("ipv6:[2001:db8::1]:5000", "2001:db8::1"),
        ("unix:/tmp/socket", "localhost"),
        ("unix:", "localhost"),
        ("", ""),
    ],
)
def test_the_address_is_found_in_what_grpc_calls_a_peer(peer: str, host: str) -> None:
    assert peer_host(peer) == host
