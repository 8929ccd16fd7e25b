"""Who may look inside: at feature values, at keys, at what is wrong with a config.

Unless a setting says otherwise that is everybody on this machine and nobody else. A proxy on
the same machine makes its callers look like that, so behind one it should be off.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Callable
from typing import Literal
from urllib.parse import unquote

Explain = Literal["loopback", "on", "off"]

WhyNot = Callable[[str], str]
"""Given the address of whoever asks, says why not; empty when it may look."""


def insight(explain: Explain) -> WhyNot:
    if explain == "on":
        return lambda _: ""
    if explain == "off":
        return lambda _: "explain is off on this server"
    return lambda host: (
        "" if _is_here(host) else "explain is for callers on the server's own machine; it can be on"
    )


def peer_host(peer: str) -> str:
    """The address in gRPC's name of a peer: `ipv4:10.0.0.7:5000`, `ipv6:%5B::1%5D:5000`."""
    family, _, rest = peer.partition(":")
    if family == "unix":
        return "localhost"
    return unquote(rest).rpartition(":")[0].removeprefix("[").removesuffix("]")


def _is_here(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
