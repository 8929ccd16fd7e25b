"""Keys and values as etcd had them at one revision."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Entry:
    value: bytes
    revision: int
    """At which the key was last written."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A range of keys, whole, as it was at one revision."""

    revision: int
    entries: Mapping[bytes, Entry]

    def revision_of(self, key: bytes) -> int:
        """When a key was last written; 0 when it is not there, which is what etcd says too."""
        entry = self.entries.get(key)
        return 0 if entry is None else entry.revision


def prefix_end(prefix: bytes) -> bytes:
    """The first key after all that start with a prefix, which must not be empty or all 0xff."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1])
