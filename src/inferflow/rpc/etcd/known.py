"""A range of keys as it is known: what a listing said, and the changes told since.

Listings and changes may come in any order: a change that a listing has seen already is not made
again, and a listing does not undo changes that came after it.
"""

from __future__ import annotations

from collections.abc import Iterable

from inferflow.rpc.etcd.change import Delete, Put
from inferflow.rpc.etcd.entries import Entry, Listing

Change = tuple[bytes, int, Entry | None]
"""Key, revision and what is there since; None when it was deleted."""


def changes_at(revision: int, made: Iterable[Put | Delete]) -> list[Change]:
    """What a transaction has changed, key by key."""
    return [
        (each.key, revision, Entry(each.value, revision) if isinstance(each, Put) else None)
        for each in made
    ]


class Known:
    def __init__(self) -> None:
        self.revision = 0
        """Everything up to it is known."""
        self._entries: dict[bytes, Entry] = {}
        self._deleted: dict[bytes, int] = {}
        """When keys were deleted that a listing under way may still show."""
        self._listed = 0
        self._seen: Listing | None = None

    def listing(self) -> Listing:
        """As of now; the same object until something changes."""
        if self._seen is None:
            self._seen = Listing(self.revision, dict(self._entries))
        return self._seen

    def is_past(self, listing: Listing) -> bool:
        """Whether a listing is older than one there was before: etcd was replaced, or restored
        from a copy of its data."""
        return listing.revision < self._listed

    def apply(self, changes: Iterable[Change], revision: int) -> None:
        """Take changes over, and that everything up to a revision has been told."""
        for key, at, entry in changes:
            if at <= max(self._listed, self._revision_of(key)):
                continue
            if entry is None:
                self._entries.pop(key, None)
                self._deleted[key] = at
            else:
                self._entries[key] = entry
                self._deleted.pop(key, None)
            self._seen = None
        self.revision = max(self.revision, revision)

    def _revision_of(self, key: bytes) -> int:
        entry = self._entries.get(key)
        return self._deleted.get(key, 0) if entry is None else entry.revision

    def adopt(self, listing: Listing) -> int:
        """Make a listing the truth, with the changes since. How many keys were wrong before."""
        since = listing.revision
        if self.is_past(listing):
            self._entries, self._deleted, self.revision = {}, {}, 0
        truth = dict(listing.entries)
        truth.update({key: each for key, each in self._entries.items() if each.revision > since})
        self._deleted = {key: at for key, at in self._deleted.items() if at > since}
        for key in self._deleted:
            truth.pop(key, None)
        wrong = sum(truth.get(key) != self._entries.get(key) for key in {*truth, *self._entries})
        if wrong:
            self._entries, self._seen = truth, None
        self._listed = since
        self.revision = max(self.revision, since)
        return wrong
