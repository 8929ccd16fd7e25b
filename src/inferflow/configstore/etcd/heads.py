"""Versions as etcd holds them: one record each, and the newest of every config once more."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

from inferflow.configstore.versions import Version
from inferflow.errors import ConfigStoreFailed


@dataclass(frozen=True, slots=True)
class Head:
    """The newest version of a config, and what it looks like where configs are kept."""

    version: Version
    value: str
    """Hash of what its key (or keys) held when this was the config."""
    mark: str
    """Of the change that wrote it, and of no other: who does not know whether its change has
    happened looks for it here."""
    text: str | None = None
    """What the version says, when that is not what the key holds: a YAML text is kept as JSON,
    for others read it too."""

    def encoded(self) -> bytes:
        fields = {"version": asdict(self.version), "value": self.value, "mark": self.mark}
        return _encoded(fields if self.text is None else {**fields, "text": self.text})


def head_of(key: bytes, value: bytes) -> Head:
    fields = _fields(key, value)
    try:
        return Head(
            Version(**fields["version"]), fields["value"], fields["mark"], fields.get("text")
        )
    except (TypeError, KeyError) as broken:
        raise _broken(key, broken) from broken


def encoded_version(version: Version) -> bytes:
    return _encoded(asdict(version))


def version_of(key: bytes, value: bytes) -> Version:
    try:
        return Version(**_fields(key, value))
    except TypeError as broken:
        raise _broken(key, broken) from broken


def _encoded(fields: dict[str, Any]) -> bytes:
    return json.dumps(fields, ensure_ascii=False).encode()


def _fields(key: bytes, value: bytes) -> dict[str, Any]:
    try:
        found = json.loads(value)
    except ValueError as broken:
        raise _broken(key, broken) from broken
    if not isinstance(found, dict):
        raise _broken(key, TypeError("an object is wanted"))
    return found


def _broken(key: bytes, why: Exception) -> ConfigStoreFailed:
    return ConfigStoreFailed(f"{key.decode(errors='replace')}: not a version: {why}")
