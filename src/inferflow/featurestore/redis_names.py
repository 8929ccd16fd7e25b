"""What a stored key is called in Redis.

The parts of an entity key stand in braces, which is all a cluster looks at to place a record: the
groups of one key lie on one node, where they are read and written together. What says group and
kind of record follows. A name begins with a namespace, so that several stores share a server.
"""

from __future__ import annotations

import binascii
from collections.abc import Sequence

from inferflow.errors import InvalidInput

_HEAD_BYTES = 8
"""Of a stored key: kind, entity and group."""
_SLOTS = 16384
_SPECIAL = frozenset(b"*?[]\\^-")


class Names:
    def __init__(self, namespace: str) -> None:
        if not namespace or set(namespace) & set("{}"):
            raise InvalidInput(f"redis.namespace: {namespace!r} is empty or holds a brace")
        self._start = namespace.encode() + b":{"

    def of(self, keys: Sequence[bytes]) -> list[bytes]:
        start = self._start
        return [b"%b%b}%b" % (start, key[_HEAD_BYTES:], key[:_HEAD_BYTES]) for key in keys]

    def key(self, name: bytes) -> bytes:
        """The stored key of a name."""
        body = name[len(self._start) :]
        if len(body) <= _HEAD_BYTES + 1:  # a short key has no parts, and may have half a head
            return body[1:]
        return body[-_HEAD_BYTES:] + body[: -_HEAD_BYTES - 1]

    def pattern(self, prefix: bytes) -> bytes:
        """Matches every name of a key with this prefix, and possibly others."""
        head, parts = _literal(prefix[:_HEAD_BYTES]), _literal(prefix[_HEAD_BYTES:])
        rest = b"" if len(prefix) >= _HEAD_BYTES else b"*"
        return _literal(self._start) + parts + b"*}" + head + rest


def slot_of(name: bytes) -> int:
    """Where a cluster places a name."""
    start = name.find(b"{") + 1
    end = name.find(b"}", start)
    return binascii.crc_hqx(name[start:end] if end > start else name, 0) % _SLOTS


def by_slot(names: Sequence[bytes]) -> list[list[int]]:
    """Positions of names that lie together."""
    slots: dict[int, list[int]] = {}
    for at, name in enumerate(names):
        slots.setdefault(slot_of(name), []).append(at)
    return list(slots.values())


def _literal(text: bytes) -> bytes:
    """A text that matches only itself."""
    return b"".join(b"\\%c" % byte if byte in _SPECIAL else b"%c" % byte for byte in text)
