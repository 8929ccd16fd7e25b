"""One change of a store as a transaction: what must be as it was seen, and what becomes of it."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from inferflow.configstore.drafts import next_version
from inferflow.configstore.etcd.heads import Head, encoded_version
from inferflow.configstore.etcd.layout import Layout
from inferflow.configstore.etcd.written import Written
from inferflow.configstore.versions import Draft, Version, content_hash
from inferflow.rpc.etcd import Delete, Put, Same


class Recording:
    """Collects versions of configs; the last one of each becomes its head."""

    def __init__(self, layout: Layout, seen: Written, at_ms: int) -> None:
        self._layout = layout
        self._seen = seen
        self._at_ms = at_ms
        self.mark = secrets.token_hex(8)
        self._latest = {config_id: head.version for config_id, head in seen.heads.items()}
        self._compared: dict[bytes, Same] = {}
        self._changes: dict[bytes, Put | Delete] = {}

    @property
    def when(self) -> Sequence[Same]:
        return tuple(self._compared.values())

    @property
    def then(self) -> Sequence[Put | Delete]:
        return tuple(self._changes.values())

    def latest(self, config_id: str) -> Version | None:
        return self._latest.get(config_id)

    def add(self, draft: Draft) -> Version:
        """Record what is there already: its text is what the config's keys hold."""
        value = self._seen.values.get(draft.id) or content_hash(draft.text)
        return self._version(draft, Head(self._next(draft), value, self.mark))

    def push(self, draft: Draft, value: str) -> Version:
        """Record a text, and make it the config. Keys that held it otherwise go."""
        place = self._seen.places.get(draft.id)
        own = place.keys[0] if place is not None and place.kind == "config" else None
        target = own or self._layout.config(draft.id)
        for key in () if place is None or own else place.keys:
            self._changes[key] = Delete(key)
        self._changes[target] = Put(target, value.encode())
        text = None if draft.text == value else draft.text
        head = Head(self._next(draft), content_hash(value), self.mark, text)
        return self._version(draft, head)

    def _version(self, draft: Draft, head: Head) -> Version:
        version = head.version
        place = self._seen.places.get(draft.id)
        keys = () if place is None else place.keys
        for key in (*keys, self._layout.config(draft.id), self._layout.head(draft.id)):
            self._compared[key] = Same(key, self._seen.listing.revision_of(key))
        record = self._layout.version(draft.id, version.number)
        self._changes[record] = Put(record, encoded_version(version))
        key = self._layout.head(draft.id)
        self._changes[key] = Put(key, head.encoded())
        self._latest[draft.id] = version
        return version

    def _next(self, draft: Draft) -> Version:
        return next_version(draft, self._latest.get(draft.id), self._at_ms)
