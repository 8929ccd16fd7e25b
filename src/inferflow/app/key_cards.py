"""API keys of a file made, listed and revoked. What is told of a key is what a manager tells."""

from __future__ import annotations

import secrets
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inferflow.access import KeyCard, KeyFile, ModelPatterns, RateLimit, mint_key
from inferflow.access.keys import LONGEST_NAME
from inferflow.access.permissions import permissions_of
from inferflow.app.key_file import editing
from inferflow.errors import InvalidInput, NotFound

Facts = dict[str, Any]


def create_key(
    path: Path,
    name: str,
    permissions: Sequence[str],
    *,
    models: Sequence[str] = (),
    expires_ms: int = 0,
    per_second: float = 0,
    burst: int = 0,
) -> Facts:
    """The key's facts and, this once, the key itself as `secret`. The file is made if need be."""
    if not name.strip() or len(name) > LONGEST_NAME or not name.isprintable():
        raise InvalidInput(f"name: text of 1 to {LONGEST_NAME} printable characters is wanted")
    made = mint_key(secrets.token_bytes)
    card = KeyCard(
        made.key_id,
        name,
        permissions_of(permissions),
        ModelPatterns(tuple(models)),
        created_ms=int(time.time() * 1000),
        expires_ms=expires_ms or None,
        rate=RateLimit(per_second, burst or max(1, round(per_second))) if per_second else None,
    )
    with editing(path) as (found, save):
        keys = found or KeyFile.new(secrets.token_bytes)
        save(keys.with_key(keys.hasher.stored(card, made)))
    return {"key": _facts(card), "secret": made.text}


def list_keys(path: Path) -> list[Facts]:
    with editing(path) as (found, _):
        return [_facts(key.card) for key in _there(found, path).keys]


def revoke_key(path: Path, key_id: str) -> Facts:
    """Servers that read the file refuse the key within a second or two."""
    with editing(path) as (found, save):
        changed = _there(found, path).without(key_id, now_ms=int(time.time() * 1000))
        save(changed)
        return next(_facts(key.card) for key in changed.keys if key.card.key_id == key_id)


def _there(found: KeyFile | None, path: Path) -> KeyFile:
    if found is None:
        raise NotFound("keys file", str(path))
    return found


def _facts(card: KeyCard) -> Facts:
    return {
        "key_id": card.key_id,
        "name": card.name,
        "permissions": sorted(card.permissions),
        "models": list(card.models.patterns),
        "created_ms": card.created_ms,
        "expires_ms": card.expires_ms or 0,
        "revoked_ms": card.revoked_ms or 0,
        "requests_per_second": card.rate.per_second if card.rate else 0,
        "burst": card.rate.burst if card.rate else 0,
        "requests": 0,
        "last_used_ms": 0,
    }
