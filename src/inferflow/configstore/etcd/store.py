"""The config store over etcd. Implements `port.ConfigStore`.

A push is one transaction: the config, its version and the new head, on the condition that none of
them changed since they were read. So no lock is held by anybody, and two pushes cannot overlap.
What versions say is written first, under its hash, and harms nobody when the rest does not happen.

Configs are kept as JSON, also those pushed as YAML: the original reads them too. People get back
what they wrote.
"""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager

from inferflow.configstore.drafts import can_be_a_name, check_draft, check_push, is_recorded
from inferflow.configstore.etcd.heads import head_of, version_of
from inferflow.configstore.etcd.layout import Layout
from inferflow.configstore.etcd.recording import Recording
from inferflow.configstore.etcd.view import Asked, View
from inferflow.configstore.etcd.written import Reader, Written, written_format
from inferflow.configstore.folder import Folder
from inferflow.configstore.versions import (
    Checks,
    Document,
    Draft,
    Expected,
    Version,
    content_hash,
)
from inferflow.errors import (
    ConfigStoreBusy,
    ConfigStoreFailed,
    InvalidInput,
    NotFound,
    RemoteFailed,
    Unreachable,
)
from inferflow.plan.document import parse_document
from inferflow.plan.problems import nearest
from inferflow.rpc.etcd import Entry, EtcdClient, Listing, Put, prefix_end
from inferflow.rpc.etcd.known import changes_at

_ATTEMPTS = 50
_ACCEPT_ATTEMPTS = 10
_PAUSE_S = 0.2
"""At most, so that servers that start together do not record the same in step."""
_CONFIGS_AT_ONCE = 20
"""Per transaction: two changes each and up to five comparisons, of which etcd takes 128."""
_TEXTS_AT_ONCE = 64
_BYTES_AT_ONCE = 1 << 20
"""Of texts in one transaction; etcd takes one and a half times as much."""


class EtcdStore:
    """Open as many as you like, in as many processes. Owns its client."""

    def __init__(
        self,
        client: EtcdClient,
        app_name: str,
        *,
        view: View | None = None,
        now: Callable[[], float] = time.time,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        """`view` sees what is there; without one, etcd is asked each time."""
        self._client = client
        self._layout = Layout(app_name)
        self._view = view or Asked(client, self._layout)
        self._now = now
        self._pause = pause
        self._reader = Reader(self._layout)

    def close(self) -> None:
        self._client.close()

    # --- reading ----------------------------------------------------------------------------

    def current(self) -> Folder:
        return self._seen().folder

    def get(self, config_id: str) -> Document:
        folder = self.current()
        found = folder.documents.get(config_id)
        if found is not None:
            return found
        for each in folder.unreadable:
            if each.id == config_id:
                raise InvalidInput(f"{each.file}: {each.what}")
        raise NotFound("model config", config_id, nearest=nearest(config_id, folder.documents))

    def history(self, config_id: str) -> Sequence[Version]:
        prefix = self._layout.versions(config_id)
        with self._speaking():
            listing = self._client.listing(prefix, prefix_end(prefix))
        found = (version_of(key, entry.value) for key, entry in listing.entries.items())
        # An id with a slash in it lies under the id before the slash.
        own = [version for version in found if version.id == config_id]
        return tuple(sorted(own, key=lambda version: version.number))

    def versions(self) -> Sequence[Version]:
        heads = self._seen().heads
        return [head.version for _, head in sorted(heads.items())]

    def text(self, version: Version) -> str:
        if version.is_removal:
            raise NotFound("text", f"{version.id}@{version.number}")
        with self._speaking():
            found = self._client.get(self._layout.text(version.hash))
        if found is None or content_hash(found.value) != version.hash:
            what = "was lost" if found is None else "was changed"
            raise ConfigStoreFailed(f"the text {version.hash[:12]} of {version.id!r} {what}")
        return found.value.decode("utf-8")

    # --- writing ----------------------------------------------------------------------------

    def push(self, draft: Draft, *, expected: Expected | None = None) -> Version:
        value = _value(draft, check_draft(draft))
        with self._speaking():
            self._keep_texts([draft.text])
            for _ in range(_ATTEMPTS):
                seen = self._about(draft.id)
                there = _replaceable(draft.id, seen)
                recording = Recording(self._layout, seen, int(self._now() * 1000))
                if check_push(draft, there, recording.latest(draft.id), expected):
                    found = there or draft.id
                    self._keep_texts([] if there is None else [there.text])
                    recording.add(_found(found, "none", "found in etcd, not checked"))
                version = recording.push(draft, value)
                if self._happens(recording, version):
                    return version
        raise ConfigStoreBusy(f"config {draft.id!r} changes faster than it can be pushed")

    def _happens(self, recording: Recording, version: Version) -> bool:
        """Make a change, or find that it had happened although etcd could not say so."""
        try:
            if self._changed(recording):
                return True
        except Unreachable as lost:
            try:
                has_happened = self._has_left_mark(recording, version.id)
            except Unreachable:
                raise ConfigStoreFailed(
                    f"{lost}; it is not known whether {version.label} of {version.id!r} was "
                    "written: look at its history"
                ) from lost
            if not has_happened:
                raise
            return True
        return self._has_left_mark(
            recording, version.id
        )  # a call that was repeated finds its own doing in the way

    def _has_left_mark(self, recording: Recording, config_id: str) -> bool:
        key = self._layout.head(config_id)
        found = self._client.get(key)
        return found is not None and head_of(key, found.value).mark == recording.mark

    def accept(self, documents: Collection[Document], gone: Collection[str] = ()) -> bool:
        """Many configs are recorded in several transactions. One that finds its configs changed
        ends it; what the others have recorded was so, and stays. Raises ConfigStoreBusy when
        others record the same all the time."""
        seen = self._seen()
        for _ in range(_ACCEPT_ATTEMPTS):
            news = _unrecorded(seen, documents, gone)
            if not news:
                return True
            if not all(_is_as_read(seen, each) for each in news):
                return False
            with self._speaking():
                if self._record(seen, news):
                    return True
                self._pause(_PAUSE_S * random.random())
                seen = self._reader.read(self._view.fresh())
        raise ConfigStoreBusy("others record versions of the same configs")

    def _record(self, seen: Written, news: Sequence[Document | str]) -> bool:
        self._keep_texts([each.text for each in news if isinstance(each, Document)])
        for at in range(0, len(news), _CONFIGS_AT_ONCE):
            recording = Recording(self._layout, seen, int(self._now() * 1000))
            for each in news[at : at + _CONFIGS_AT_ONCE]:
                recording.add(_found(each, "compiled", "edited in etcd: compile checks only"))
            if not self._changed(recording):
                return False
        return True

    def _changed(self, recording: Recording) -> bool:
        revision = self._client.change(recording.when, recording.then)
        if revision:
            self._view.learn(changes_at(revision, recording.then))
        return revision > 0

    def _keep_texts(self, texts: Sequence[str]) -> None:
        puts: list[Put] = []
        size = 0
        for text in dict.fromkeys(texts):
            value = text.encode()
            if puts and (len(puts) == _TEXTS_AT_ONCE or size + len(value) > _BYTES_AT_ONCE):
                self._client.change([], puts)
                puts, size = [], 0
            puts.append(Put(self._layout.text(content_hash(value)), value))
            size += len(value)
        if puts:
            self._client.change([], puts)

    # --- looking ----------------------------------------------------------------------------

    def _seen(self) -> Written:
        with self._speaking():
            return self._reader.read(self._view.seen())

    def _about(self, config_id: str) -> Written:
        """What there is about one config, as it is this moment."""
        start, end = self._layout.followed
        everything = self._client.listing(start, end, keys_only=True)
        reader = Reader(self._layout)
        keys = [self._layout.head(config_id), *reader.about(config_id, everything.entries)]
        entries: dict[bytes, Entry] = {}
        for key in keys:
            entry = self._client.get(key)
            if entry is not None:
                entries[key] = entry
        return reader.read(Listing(everything.revision, entries))

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        try:
            yield
        except (Unreachable, RemoteFailed) as failed:
            raise ConfigStoreFailed(str(failed)) from failed


def _value(draft: Draft, document: Document) -> str:
    """What the config's key is to hold: the config alone, as JSON."""
    if draft.format == "json":
        is_bare = parse_document(draft.text, name=draft.id, is_json=True) == document.content
        if is_bare:
            return draft.text
    try:
        return (
            json.dumps(document.content, indent=2, ensure_ascii=False, allow_nan=False, default=str)
            + "\n"
        )
    except ValueError as broken:
        raise InvalidInput(f"{draft.id}: cannot be kept as JSON: {broken}") from broken


def _replaceable(config_id: str, seen: Written) -> Document | None:
    """The config as it is now, well formed or not, for one who wants to replace it."""
    found = seen.folder.documents.get(config_id)
    if found is not None and not found.alone:
        raise InvalidInput(
            f"{found.file} holds all configs in one object; give {config_id!r} a key of its own, "
            "and take it out of there"
        )
    for each in seen.folder.unreadable:
        if each.id == config_id:
            if found is not None or each.text is None:
                raise InvalidInput(f"{each.file}: {each.what}; mend or delete that key first")
            found = Document(config_id, each.file, written_format(each.text), each.text, None)
    if found is None and not can_be_a_name(config_id):
        raise InvalidInput(f"{config_id!r} cannot be part of a key, or of a file's name")
    return found


def _unrecorded(
    seen: Written, documents: Collection[Document], gone: Collection[str]
) -> list[Document | str]:
    latest = {config_id: head.version for config_id, head in seen.heads.items()}
    return [
        *(
            each
            for each in documents
            if each.id not in seen.headless and not is_recorded(each, latest.get(each.id))
        ),
        *(each for each in gone if not is_recorded(None, latest.get(each))),
    ]


def _is_as_read(seen: Written, each: Document | str) -> bool:
    folder = seen.folder
    if isinstance(each, Document):
        return folder.documents.get(each.id) == each
    return each not in folder.documents and all(other.id != each for other in folder.unreadable)


def _found(found: Document | str, checks: Checks, note: str) -> Draft:
    """What people did to a config's key: a text, or an id that is gone."""
    if isinstance(found, str):
        return Draft(found, "", "json", "", "removed", "none", "its key is gone")
    return Draft(found.id, found.text, found.format, found.author, "edit", checks, note)
