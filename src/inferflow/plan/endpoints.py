"""Where a model runs, as configs write it.

- nothing, `local`, `local:<model>[@<version>]`: in this process
- `host:port[/<model>[@<version>]]`: a server of the Open Inference Protocol; several, separated
  by commas, are taken for servers that answer alike
- `manager://host:port[/<model>[@<version or stage>]]`: whichever workers the manager of a fleet
  names; several, separated by commas, are managers of one fleet

The model and version of the step stand where an endpoint names none of its own.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from inferflow.plan.catalog import MANAGER, Endpoint, RemotePolicy

LOCAL = "local"

_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\]")
_FORMS = "write local, local:<model>, host:port, or manager://host:port"


@dataclass(frozen=True, slots=True)
class Refused:
    """Why a text is no endpoint that may be used."""

    what: str
    hint: str = ""


def read_endpoint(
    text: str, model: str, version: str | None, policy: RemotePolicy
) -> Endpoint | Refused:
    """The endpoint a text means. The model and version are those of the step."""
    if text in ("", LOCAL):
        return Endpoint(text, model, version)
    if text.startswith(LOCAL + ":"):
        own_model, own_version = _model_of(text.removeprefix(LOCAL + ":"))
        return Endpoint(text, own_model or model, own_version or version)
    scheme, rest = (MANAGER, text.removeprefix(MANAGER)) if text.startswith(MANAGER) else ("", text)
    if "://" in rest:
        return Refused(f"{text!r} is no endpoint of a model", _FORMS)
    if scheme:  # the port that is set is one of model servers
        policy = replace(policy, port=None)
    servers, slash, rest = rest.partition("/")
    own_model, own_version = _model_of(rest)
    if slash and not own_model:
        return Refused(f"{text!r} names no model after its '/'", _FORMS)
    addresses: list[str] = []
    for address in _addresses(servers, policy):
        if isinstance(address, Refused):
            return address
        addresses.append(address)
    return Endpoint(text, own_model or model, own_version or version, scheme + ",".join(addresses))


def _addresses(servers: str, policy: RemotePolicy) -> Iterator[str | Refused]:
    for written in servers.split(","):
        address = _address(written.strip(), policy)
        if isinstance(address, str) and not is_allowed(address, policy):
            yield Refused(
                f"{address!r} is not among the servers this process may call",
                "add it to endpoint_allow in inferflow.toml",
            )
            return
        yield address


def _address(written: str, policy: RemotePolicy) -> str | Refused:
    host, colon, port = written.rpartition(":")
    if not colon or written.endswith("]"):
        host, port = written, "" if policy.port is None else str(policy.port)
    if not _HOST.fullmatch(host):
        return Refused(f"{written!r} is no endpoint of a model", _FORMS)
    if not port:
        return Refused(f"{written!r} names no port", _FORMS)
    if not port.isdecimal() or not 0 < int(port) < 65536:
        return Refused(f"{written!r}: {port!r} is no port", _FORMS)
    return f"{host}:{int(port)}"


def is_allowed(address: str, policy: RemotePolicy) -> bool:
    """Whether a pattern of the policy covers `host:port`; upper and lower case are the same."""
    return any(fnmatchcase(address.lower(), pattern.lower()) for pattern in policy.allow)


def _model_of(text: str) -> tuple[str, str]:
    model, _, version = text.partition("@")
    return model, version
