"""Entity keys as the bytes rows are stored under.

A stored key is `tag, space, parts`: one byte that says what kind of record it is, seven bytes
for the entity and group, then the key parts in schema order. Every part but the last carries
its length, so no value can be mistaken for a separator and two keys never share bytes.
A key that would not fit into the smallest limit of any backend is stored under its digest,
and its row carries the parts, so that it can still be listed.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence

from inferflow.engine.ports import KeyColumns
from inferflow.errors import StoreFailed

MAX_KEY_BYTES = 511
"""What LMDB takes as it is usually built; the tightest of the backends."""

META = b"\x00"
"""First byte of the store's own records. No row has it."""
_PLAIN, _DIGESTED = b"\x01", b"\x02"
_SPACE_BYTES = 7
_PREFIX_BYTES = 1 + _SPACE_BYTES
_LENGTH_BYTES = 4


class KeySpace:
    """Where the rows of one group of one entity are kept."""

    __slots__ = ("_digested", "_plain", "space")

    def __init__(self, entity: str, group: str) -> None:
        name = json.dumps([entity, group]).encode()
        self.space = hashlib.blake2b(name, digest_size=_SPACE_BYTES).digest()
        self._plain = _PLAIN + self.space
        self._digested = _DIGESTED + self.space

    @property
    def prefixes(self) -> tuple[bytes, bytes]:
        """What every key of this space begins with, one way or the other."""
        return self._plain, self._digested

    def keys_of(self, columns: KeyColumns) -> list[bytes]:
        """`keys(join_parts(columns))`, in one go where all but the last part are alike: one
        product, or one user and many categories."""
        *leading, last = columns
        front = self._plain
        try:
            for column in leading:
                if column.count(column[0]) != len(column):
                    return self.keys(join_parts(columns))
                front += _with_length(column[0].encode())
            keys = [front + text.encode() for text in last]
        except UnicodeEncodeError:
            return self.keys(join_parts(columns))
        if max(map(len, keys), default=0) > MAX_KEY_BYTES:
            return self.keys(join_parts(columns))
        return keys

    def keys(self, parts: Sequence[bytes]) -> list[bytes]:
        """The stored keys of joined parts."""
        prefix = self._plain
        if max(map(len, parts), default=0) > MAX_KEY_BYTES - _PREFIX_BYTES:
            return [self._digest(part) if is_long(part) else prefix + part for part in parts]
        return [prefix + part for part in parts]

    def _digest(self, parts: bytes) -> bytes:
        return self._digested + hashlib.blake2b(parts, digest_size=32).digest()

    def parts(self, key: bytes) -> bytes:
        """The joined parts of a key that is not stored under its digest."""
        return key[_PREFIX_BYTES:]


def is_long(parts: bytes) -> bool:
    """True when a row is stored under a digest and has to carry these parts itself."""
    return len(parts) > MAX_KEY_BYTES - _PREFIX_BYTES


def join_parts(columns: KeyColumns) -> list[bytes]:
    """One byte string per key from the text of its parts, columns in schema order."""
    *leading, last = columns
    joined = _encoded(last)
    for column in reversed(leading):
        if len(set(column)) == 1:  # one user and many categories
            head = _with_length(column[0].encode("utf-8", "surrogatepass"))
            joined = [head + rest for rest in joined]
        else:
            encoded = _encoded(column)
            joined = [_with_length(a) + b for a, b in zip(encoded, joined, strict=True)]
    return joined


def split_parts(joined: bytes, count: int) -> tuple[str, ...]:
    """What `join_parts` joined."""
    parts: list[bytes] = []
    for _ in range(count - 1):
        start = _LENGTH_BYTES + int.from_bytes(joined[:_LENGTH_BYTES], "big")
        parts.append(joined[_LENGTH_BYTES:start])
        joined = joined[start:]
    try:
        return tuple(part.decode("utf-8", "surrogatepass") for part in (*parts, joined))
    except UnicodeDecodeError as broken:
        raise StoreFailed(f"a stored key is damaged: {broken}") from broken


def _encoded(column: Iterable[str]) -> list[bytes]:
    try:
        return [part.encode() for part in column]
    except UnicodeEncodeError:  # half a surrogate pair: no such key is stored, nor is it an error
        return [part.encode("utf-8", "surrogatepass") for part in column]


def _with_length(part: bytes) -> bytes:
    return len(part).to_bytes(_LENGTH_BYTES, "big") + part
