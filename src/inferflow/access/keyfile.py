"""API keys as a file of their own: for servers that have no manager to ask.

The file is JSON. It holds a salt and, per key, its card and a digest of its secret, so whoever
reads the file can call nobody. Only text is read and written here; the file itself is the
caller's business.

    {"salt": "<hex>", "keys": [{"id": "…", "name": "shop", "digest": "<hex>",
      "permissions": ["inference"], "models": ["rank*"], "created_ms": 0,
      "expires_ms": null, "revoked_ms": null, "per_second": 100.0, "burst": 20}]}
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inferflow.access.keybook import KeyBook
from inferflow.access.keys import LONGEST_NAME, SHORTEST_PEPPER, KeyCard, KeyHasher, StoredKey
from inferflow.access.permissions import ModelPatterns, permissions_of
from inferflow.access.rates import RateLimit
from inferflow.errors import InvalidInput, NotFound

_ID = re.compile(r"[0-9a-f]{12}")
_WANTED = frozenset({"id", "digest", "permissions"})
_FIELDS = _WANTED | {"name", "models", "per_second", "burst"}
_FIELDS |= {"created_ms", "expires_ms", "revoked_ms"}


@dataclass(frozen=True, slots=True)
class KeyFile:
    """What such a file says."""

    salt: bytes
    keys: tuple[StoredKey, ...] = ()

    @classmethod
    def new(cls, random_bytes: Callable[[int], bytes]) -> KeyFile:
        return cls(random_bytes(SHORTEST_PEPPER))

    @property
    def hasher(self) -> KeyHasher:
        return KeyHasher(self.salt)

    def book(self) -> KeyBook:
        return KeyBook(self.hasher, self.keys)

    def with_key(self, key: StoredKey) -> KeyFile:
        return replace(self, keys=(*self.keys, key))

    def without(self, key_id: str, *, now_ms: int) -> KeyFile:
        """The same with a key revoked. Raises NotFound."""
        if all(key.card.key_id != key_id for key in self.keys):
            raise NotFound("API key", key_id)
        return replace(self, keys=tuple(_revoked(key, key_id, now_ms) for key in self.keys))

    def text(self) -> str:
        listed = [_written(key) for key in self.keys]
        return json.dumps({"salt": self.salt.hex(), "keys": listed}, indent=1) + "\n"


def read_keys(text: str, place: str) -> KeyFile:
    """Raises InvalidInput that names the `place`, and echoes no digest."""
    try:
        written = json.loads(text)
    except json.JSONDecodeError as broken:
        raise InvalidInput(f"{place}: not JSON: {broken}") from None
    if not isinstance(written, dict) or set(written) != {"salt", "keys"}:
        raise InvalidInput(f"{place}: a keys file is an object with 'salt' and 'keys'")
    if not isinstance(written["keys"], list):
        raise InvalidInput(f"{place}: keys: a list is wanted")
    keys = [_read(each, f"{place}: keys[{at}]") for at, each in enumerate(written["keys"])]
    _check_distinct(keys, place)
    salt = _bytes(written["salt"], f"{place}: salt")
    if len(salt) < SHORTEST_PEPPER:
        raise InvalidInput(f"{place}: salt: {SHORTEST_PEPPER} bytes in hexadecimal are wanted")
    return KeyFile(salt, tuple(keys))


def _revoked(key: StoredKey, key_id: str, now_ms: int) -> StoredKey:
    if key.card.key_id != key_id or key.card.revoked_ms is not None:
        return key
    return replace(key, card=replace(key.card, revoked_ms=now_ms))


def _written(key: StoredKey) -> dict[str, Any]:
    card = key.card
    return {
        "id": card.key_id,
        "name": card.name,
        "digest": key.digest.hex(),
        "permissions": sorted(card.permissions),
        "models": list(card.models.patterns),
        "created_ms": card.created_ms,
        "expires_ms": card.expires_ms,
        "revoked_ms": card.revoked_ms,
        "per_second": card.rate.per_second if card.rate else None,
        "burst": card.rate.burst if card.rate else None,
    }


def _read(written: Any, place: str) -> StoredKey:
    if not isinstance(written, dict):
        raise InvalidInput(f"{place}: an object is wanted")
    if unknown := set(written) - _FIELDS:
        raise InvalidInput(f"{place}: unknown: {', '.join(sorted(map(str, unknown)))}")
    if missing := _WANTED - set(written):
        raise InvalidInput(f"{place}: missing: {', '.join(sorted(missing))}")
    key_id, name = written["id"], written.get("name", "")
    if not isinstance(key_id, str) or not _ID.fullmatch(key_id):
        raise InvalidInput(f"{place}: id: twelve hexadecimal digits are wanted")
    if not isinstance(name, str) or len(name) > LONGEST_NAME:
        raise InvalidInput(f"{place}: name: text of at most {LONGEST_NAME} characters is wanted")
    try:
        card = KeyCard(
            key_id,
            name,
            permissions_of(_texts(written, "permissions")),
            ModelPatterns(tuple(_texts(written, "models"))),
            created_ms=_time(written, "created_ms") or 0,
            expires_ms=_time(written, "expires_ms"),
            revoked_ms=_time(written, "revoked_ms"),
            rate=_rate(written),
        )
    except InvalidInput as wrong:
        raise InvalidInput(f"{place}: {wrong}") from None
    return StoredKey(card, _bytes(written["digest"], f"{place}: digest"))


def _texts(written: Mapping[str, Any], name: str) -> list[str]:
    value = written.get(name, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise InvalidInput(f"{name}: a list of text is wanted")
    return value


def _time(written: Mapping[str, Any], name: str) -> int | None:
    value = written.get(name)
    if value is not None and type(value) is not int:
        raise InvalidInput(f"{name}: milliseconds since the epoch are wanted")
    return value


def _rate(written: Mapping[str, Any]) -> RateLimit | None:
    per_second, burst = written.get("per_second"), written.get("burst")
    if per_second is None:
        return None
    if type(per_second) not in (int, float) or type(burst) not in (int, type(None)):
        raise InvalidInput("per_second, burst: numbers are wanted")
    return RateLimit(float(per_second), burst or max(1, round(per_second)))


def _bytes(value: Any, place: str) -> bytes:
    try:
        return bytes.fromhex(value)
    except (TypeError, ValueError):
        raise InvalidInput(f"{place}: hexadecimal text is wanted") from None


def _check_distinct(keys: Iterable[StoredKey], place: str) -> None:
    seen: set[str] = set()
    for key in keys:
        if key.card.key_id in seen:
            raise InvalidInput(f"{place}: key {key.card.key_id!r} is there twice")
        seen.add(key.card.key_id)
