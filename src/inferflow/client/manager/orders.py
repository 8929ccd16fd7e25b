"""What a manager tells a worker, as plain values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from inferflow.access import RateLimit, Revocations, VerifyingKey

Message = Any


@dataclass(frozen=True, slots=True)
class RemoteFile:
    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class RemoteVersion:
    """A version of a model that the registry can deliver."""

    model: str
    version: str
    digest: str
    stage: str
    files: tuple[RemoteFile, ...]
    options: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Orders:
    etag: str
    verifying_keys: tuple[VerifyingKey, ...]
    revocations: Revocations
    versions: tuple[RemoteVersion, ...]
    prefetch: tuple[str, ...]
    """As `model@version`."""
    limits: Mapping[str, RateLimit]
    drain: bool


def orders_from(message: Message) -> Orders:
    return Orders(
        etag=message.etag,
        verifying_keys=tuple(
            VerifyingKey(key.key_id, key.public_key) for key in message.verifying_keys
        ),
        revocations=Revocations(
            frozenset(message.revoked_key_ids), frozenset(message.revoked_token_ids)
        ),
        versions=tuple(map(_version, message.models)),
        prefetch=tuple(f"{each.model}@{each.version}" for each in message.prefetch),
        limits={
            limit.key_id: RateLimit(limit.requests_per_second, limit.burst)
            for limit in message.key_limits
        },
        drain=message.drain,
    )


def _version(message: Message) -> RemoteVersion:
    return RemoteVersion(
        message.model,
        message.version,
        message.digest,
        message.stage,
        tuple(RemoteFile(file.path, file.size, file.sha256) for file in message.files),
        json.loads(message.options_json) if message.options_json else {},
    )
