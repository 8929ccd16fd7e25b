"""A folder of config files, read into documents.

A file holds `{id: {…}}` for one or more ids, or one inner object alone, named by the file. One
file that cannot be read hides no other, and is told apart from one that is not there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from inferflow.configstore.versions import Document, Format
from inferflow.errors import InvalidInput
from inferflow.plan.document import file_text, parse_document
from inferflow.plan.normalise import unwrap

SUFFIXES: Mapping[str, Format] = {".json": "json", ".yaml": "yaml", ".yml": "yaml"}


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A file, or a config in it, that cannot be told."""

    file: str
    id: str
    """The id it would have: the one in it that clashes, else the file's name."""
    what: str
    text: str | None = None
    """What a file that is not well formed says, when it is a text at all."""


@dataclass(frozen=True, slots=True)
class Folder:
    """Configs as they are written now."""

    documents: Mapping[str, Document]
    unreadable: tuple[Unreadable, ...] = ()


def format_of(path: Path) -> Format:
    """The format a file's name says. Raises InvalidInput for any other."""
    found = SUFFIXES.get(path.suffix)
    if found is None:
        raise InvalidInput(f"{path}: a config is a {', '.join(SUFFIXES)} file")
    return found


def read_folder(folder: Path) -> Folder:
    """Every config of a folder by id; of two with one id, the first by file name."""
    return FolderReader(folder).read()


class FolderReader:
    """Reads one folder again and again; a file that says what it said is not parsed again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._known: dict[Path, tuple[str, list[Document]]] = {}

    def read(self) -> Folder:
        documents: dict[str, Document] = {}
        unreadable: list[Unreadable] = []
        known: dict[Path, tuple[str, list[Document]]] = {}
        for path in config_files(self._folder):
            name = f"{self._folder.name}/{path.name}"
            text: str | None = None
            try:
                text = file_text(path)
                before, found = self._known.get(path, ("", []))
                if text != before or not found:
                    found = read_file(path, name, text)
            except InvalidInput as broken:
                unreadable.append(Unreadable(name, path.stem, str(broken), text))
                continue
            known[path] = (text, found)
            for document in found:
                first = documents.setdefault(document.id, document)
                if first is not document:
                    what = f"{document.id!r} is also in {first.file}"
                    unreadable.append(Unreadable(name, document.id, what))
        self._known = known
        return Folder(documents, tuple(unreadable))


def config_files(folder: Path) -> list[Path]:
    if not folder.is_dir():
        return []
    return sorted(
        path
        for path in folder.iterdir()
        if path.suffix in SUFFIXES and not path.name.startswith(".")
    )


def read_file(path: Path, name: str, text: str | None = None) -> list[Document]:
    """The configs of one file, whose text may be known. Raises InvalidInput when it cannot be
    read."""
    text = file_text(path) if text is None else text
    try:
        author = path.owner()
    except (OSError, KeyError):  # a file just gone, or a user without a name
        author = ""
    return documents_of(text, format_of(path), stem=path.stem, file=name, author=author)


def documents_of(
    text: str, format: Format, *, stem: str, file: str, author: str = ""
) -> list[Document]:
    """The configs a text holds. Raises InvalidInput when it is not well formed."""
    name = file.rpartition("/")[2]
    found = unwrap(parse_document(text, name=name, is_json=format == "json"), stem)
    if len(found) == 1:
        ((config_id, content),) = found.items()
        return [Document(config_id, file, format, text, content, author=author)]
    return [
        Document(
            config_id,
            file,
            "json",
            json.dumps({config_id: content}, indent=2, ensure_ascii=False, default=str) + "\n",
            content,
            alone=False,
            author=author,
        )
        for config_id, content in found.items()
    ]
