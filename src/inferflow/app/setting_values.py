"""How the values of settings are written: ports, durations, lists of addresses, secrets."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field, SecretStr

from inferflow.app.env_first import Unit
from inferflow.plan.schema import duration_ms

MIB = 1024 * 1024


def _listed(value: object) -> object:
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    return value


def _paired(value: object) -> object:
    if not isinstance(value, str):
        return value
    pairs: dict[str, str] = {}
    last = None
    for part in filter(None, map(str.strip, value.split(","))):
        name, is_pair, text = part.partition("=")
        if is_pair:
            last = name.strip()
            pairs[last] = text.strip()
        elif last is None:
            raise ValueError(f"NAME=VALUE is wanted, with commas between; not {part!r}")
        else:  # a value that is a list itself
            pairs[last] += f",{part}"
    return pairs


def _maybe_ms(value: object) -> object:
    return None if value is None or value == "" else duration_ms(value) or None


def mebibytes(text: str) -> object:
    """A number of bytes as MiB; any other text as it is, for the setting to refuse."""
    return int(text) / MIB if text.isdecimal() else text


Port = Annotated[int, Field(ge=0, le=65535)]
"""0 takes any free port."""
RemotePort = Annotated[int, Field(ge=1, le=65535)]
Count = Annotated[int, Field(ge=1)]
Milliseconds = Annotated[float, BeforeValidator(duration_ms), Field(ge=0), Unit("ms")]
"""A number of milliseconds, or text such as `200ms` or `5s`."""
MaybeMilliseconds = Annotated[float | None, BeforeValidator(_maybe_ms), Unit("ms")]
"""The same, or nothing, which 0 means too."""
Mebibytes = Annotated[float, Field(gt=0), Unit("MiB")]
Listed = Annotated[tuple[str, ...], BeforeValidator(_listed)]
"""A list, or text with commas between."""
Paired = Annotated[dict[str, str], BeforeValidator(_paired)]
"""A table, or text such as `a=1,b=2`. A part without a name belongs to the value before it."""
Secret = SecretStr
"""Prints as stars; `get_secret_value()` has the text."""


WILDCARDS = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""Addresses that stand for all of a machine's → one of them that this machine reaches."""


def reached(bind: str, port: int) -> str:
    """Where this machine reaches a server that listens on an address."""
    host = WILDCARDS.get(bind, bind)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def address(host: str, port: int) -> str:
    """`host:port`, where a port that is part of the host wins; empty without a host."""
    if not host:
        return ""
    has_port = host.rpartition(":")[2].isdecimal() and (host.count(":") == 1 or "]:" in host)
    return host if has_port else f"{host}:{port}"


def addresses(hosts: str, port: int) -> str:
    """The same for several hosts with commas between."""
    listed = filter(None, (host.strip() for host in hosts.split(",")))
    return ",".join(address(host, port) for host in listed)
