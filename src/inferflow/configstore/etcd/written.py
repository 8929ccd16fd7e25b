"""Configs as keys hold them, in every form there is: one key each, three keys, or all in one.

A key that cannot be read hides no other. Of one id in two places, its own key counts, then its
parts, then the object with all configs; the others are reported.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inferflow.configstore.etcd.heads import Head, head_of
from inferflow.configstore.etcd.layout import Key, Layout
from inferflow.configstore.folder import Folder, Unreadable, documents_of
from inferflow.configstore.versions import Document, Format, content_hash
from inferflow.errors import ConfigStoreFailed, InvalidInput
from inferflow.plan.document import parse_document
from inferflow.rpc.etcd import Entry, Listing


@dataclass(frozen=True, slots=True)
class Place:
    """The keys that hold one config, or all of them."""

    id: str
    file: str
    keys: tuple[bytes, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class Written:
    """Everything a listing says about configs."""

    listing: Listing
    folder: Folder
    heads: Mapping[str, Head]
    places: Mapping[str, Place]
    """Of every config that can be read, and of those that cannot where it is known."""
    values: Mapping[str, str]
    """Per config, the hash of what its place holds."""
    headless: frozenset[str]
    """Configs whose newest version cannot be read. They serve, but get no more versions until
    somebody has mended that."""


class Reader:
    """Reads listings one after another; what did not change is not parsed again."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._last: Written | None = None
        self._known: dict[Place, tuple[object, list[Document], str]] = {}
        self._known_heads: dict[bytes, tuple[Entry, Head]] = {}

    def read(self, listing: Listing) -> Written:
        if self._last is None or self._last.listing is not listing:
            self._last = self._read(listing)
        return self._last

    def _read(self, listing: Listing) -> Written:
        documents: dict[str, Document] = {}
        unreadable: list[Unreadable] = []
        heads = self._heads(listing, unreadable)
        headless = frozenset(each.id for each in unreadable)
        places: dict[str, Place] = {}
        values: dict[str, str] = {}
        known: dict[Place, tuple[object, list[Document], str]] = {}
        for place in self._places(listing, unreadable):
            try:
                known[place] = self._known_or_read(place, listing, heads)
            except InvalidInput as broken:
                text = _text_or_none(listing, place)
                unreadable.append(Unreadable(place.file, place.id, str(broken), text))
                places.setdefault(place.id, place)
                continue
            for document in known[place][1]:
                first = documents.setdefault(document.id, document)
                if first is not document:
                    what = f"{document.id!r} is also in {first.file}"
                    unreadable.append(Unreadable(place.file, document.id, what))
                    continue
                places[document.id] = place
                values[document.id] = known[place][2] or document.hash
        self._known = known
        folder = Folder(documents, tuple(unreadable))
        return Written(listing, folder, heads, places, values, headless)

    def _heads(self, listing: Listing, unreadable: list[Unreadable]) -> dict[str, Head]:
        known: dict[bytes, tuple[Entry, Head]] = {}
        for key, entry in listing.entries.items():
            if not key.startswith(self._layout.heads):
                continue
            before = self._known_heads.get(key)
            try:
                if before is None or before[0] != entry:
                    before = (entry, head_of(key, entry.value))
                known[key] = before
            except ConfigStoreFailed as broken:
                name = key.decode(errors="backslashreplace")
                config_id = key.removeprefix(self._layout.heads).decode(errors="backslashreplace")
                unreadable.append(Unreadable(name, config_id, str(broken)))
        self._known_heads = known
        return {head.version.id: head for _, head in known.values()}

    # --- where configs are ------------------------------------------------------------------

    def _places(self, listing: Listing, unreadable: list[Unreadable]) -> list[Place]:
        """In the order in which they count."""
        own: list[Place] = []
        parts: dict[str, list[tuple[bytes, str]]] = {}
        together: list[Place] = []
        for key, name, found in self._parsed(listing):
            if found.kind == "config":
                own.append(Place(found.id, name, (key,), "config"))
            elif found.kind == "all":
                together.append(Place("config-map", name, (key,), "all"))
            elif found.kind == "part":
                parts.setdefault(name.rpartition("/")[0], []).append((key, found.id))
            elif listing.entries[key].value.strip():
                what = "no place for a config: <id>, or <id>/<part> is wanted after config-map/"
                unreadable.append(Unreadable(name, found.id, what))
        split = [
            Place(each[0][1], f"{name}/", tuple(key for key, _ in each), "split")
            for name, each in parts.items()
        ]
        return [*own, *split, *together]

    def _parsed(self, listing: Listing) -> Iterator[tuple[bytes, str, Key]]:
        for key in sorted(listing.entries):
            name = key.decode(errors="backslashreplace")
            found = self._layout.parse(name)
            if found is not None:
                yield key, name, found

    def about(self, config_id: str, keys: Iterable[bytes]) -> list[bytes]:
        """Those keys that may say something about a config."""
        found: list[bytes] = []
        for key in keys:
            parsed = self._layout.parse(key.decode(errors="backslashreplace"))
            if parsed is not None and (parsed.kind == "all" or parsed.id == config_id):
                found.append(key)
        return found

    # --- what they hold ---------------------------------------------------------------------

    def _known_or_read(
        self, place: Place, listing: Listing, heads: Mapping[str, Head]
    ) -> tuple[object, list[Document], str]:
        head = heads.get(place.id) if place.kind != "all" else None
        mark = (*(listing.entries[key] for key in place.keys), head)
        before = self._known.get(place)
        if before is not None and before[0] == mark:
            return before
        if place.kind == "all":
            return mark, _all(place, listing), ""
        value = _value(place, listing, self._layout)
        return mark, [_document(place, value, head)], content_hash(value)


def _document(place: Place, value: str, head: Head | None) -> Document:
    """The config a place holds; as the version says it that was written there, when it is that."""
    text, format = value, written_format(value)
    if head is not None and head.text is not None and head.value == content_hash(value):
        text, format = head.text, head.version.format
    found = documents_of(text, format, stem=place.id, file=place.file)
    if [each.id for each in found] != [place.id]:
        ids = ", ".join(repr(each.id) for each in found)
        raise InvalidInput(f"holds {ids}, and not {place.id!r}")
    return found[0]


def _all(place: Place, listing: Listing) -> list[Document]:
    value = _text(listing, place.keys[0])
    found = documents_of(value, written_format(value), stem=place.id, file=place.file)
    # Even one alone: its key is not its own.
    return [replace(each, alone=False) for each in found]


def _value(place: Place, listing: Listing, layout: Layout) -> str:
    """What a config's keys hold; of several, one object made of all."""
    if place.kind == "config":
        return _text(listing, place.keys[0])
    whole: dict[str, Any] = {}
    for key in place.keys:
        name = key.decode(errors="backslashreplace")
        parsed = layout.parse(name)
        assert parsed is not None
        whole[parsed.part] = parse_document(
            _text(listing, key), name=name.rpartition("/")[2], is_json=True
        )
    return json.dumps(whole, indent=2, ensure_ascii=False) + "\n"


def written_format(value: str) -> Format:
    return "json" if value.lstrip().startswith("{") else "yaml"


def _text(listing: Listing, key: bytes) -> str:
    try:
        return listing.entries[key].value.decode("utf-8")
    except UnicodeDecodeError as broken:
        raise InvalidInput(f"not a text: {broken}") from broken


def _text_or_none(listing: Listing, place: Place) -> str | None:
    try:
        return _text(listing, place.keys[0]) if place.kind == "config" else None
    except InvalidInput:
        return None
