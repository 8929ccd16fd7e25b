"""Documents as they are now, versions as they were, and drafts that want to become one.

The hash of a version is the SHA-256 of its text, so that `sha256sum` of a config file gives it
too. Numbers count from 1 per config id and have no gaps.
"""

from __future__ import annotations

import difflib
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from inferflow.errors import NotFound, VersionConflict

Format = Literal["json", "yaml"]
Origin = Literal["push", "rollback", "edit", "removed"]
Checks = Literal["golden", "forced", "compiled", "none"]
Expected = int | str
"""A version's number (0: there is none yet), or its hash or the first characters of it."""

SHORTEST_HASH = 8
"""Fewer characters than this are a number, or a mistake."""


def content_hash(text: str | bytes) -> str:
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


@dataclass(frozen=True, slots=True)
class Document:
    """A config as it is written now."""

    id: str
    file: str
    """Where people find it: `configs/ranker.yaml`."""
    format: Format
    text: str
    """As written, to the last blank. Of a file with several configs: this one's part as JSON."""
    content: Any = field(compare=False)
    alone: bool = True
    """False when its file holds other configs too; it cannot be replaced by a push then."""
    author: str = field(default="", compare=False)
    """Who the file belongs to."""

    @property
    def hash(self) -> str:
        return content_hash(self.text)


@dataclass(frozen=True, slots=True)
class Draft:
    """A text that wants to become the next version."""

    id: str
    text: str
    format: Format
    author: str
    origin: Origin = "push"
    checks: Checks = "none"
    note: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """One entry of a config's history. Never changed once written."""

    id: str
    number: int
    hash: str
    """Empty when this is the moment the config was taken away."""
    format: Format
    at_ms: int
    """Milliseconds since the epoch."""
    author: str
    origin: Origin
    """How it came: a push, a rollback, an edit of the folder, or the config's removal."""
    checks: Checks
    """What was found good first: compiling and every golden request; the same with failures
    that were overridden; compiling alone; nothing."""
    note: str = ""

    @property
    def is_removal(self) -> bool:
        return self.origin == "removed"

    @property
    def label(self) -> str:
        return f"version {self.number}" + ("" if self.is_removal else f" ({self.hash[:12]})")


def is_meant(version: Version, expected: Expected) -> bool:
    """Whether a number, a hash or the beginning of one names this version."""
    text = str(expected)
    if len(text) < SHORTEST_HASH:
        return text.isdecimal() and int(text) == version.number
    return is_hash_of(expected, version.hash)


def is_hash_of(expected: Expected, found: str) -> bool:
    """Whether this is a hash, or enough of its beginning."""
    text = str(expected).lower()
    return len(text) >= SHORTEST_HASH and found.startswith(text)


def check_expected(config_id: str, latest: Version | None, expected: Expected) -> None:
    """Raises VersionConflict unless `latest` is the version a push was made for."""
    if latest is None or latest.is_removal:
        if str(expected) == "0" or (latest is not None and is_meant(latest, expected)):
            return
        found = "no such config" if latest is None else f"{latest.label}, its removal"
        number = 0 if latest is None else latest.number
        raise VersionConflict(config_id, said(expected), found, number)
    if not is_meant(latest, expected):
        raise VersionConflict(
            config_id,
            said(expected),
            f"{latest.label} by {latest.author or 'somebody'}",
            latest.number,
        )


def said(expected: Expected) -> str:
    """What a push expects, in words."""
    return "no config yet" if str(expected) == "0" else f"version {expected}"


def find_version(config_id: str, history: Sequence[Version], wanted: Expected) -> Version:
    """The newest version a number or hash names. Raises NotFound."""
    for version in reversed(history):
        if is_meant(version, wanted):
            return version
    nearest = str(history[-1].number) if history else ""
    raise NotFound(f"version of config {config_id!r}", str(wanted), nearest=nearest)


def difference(old: str, new: str, *, old_name: str, new_name: str) -> str:
    """A unified diff; empty when nothing differs."""
    lines = difflib.unified_diff(
        old.splitlines(), new.splitlines(), old_name, new_name, lineterm="", n=3
    )
    text = "\n".join(lines)
    if not text and old != new:
        return "the texts differ in line ends only"
    return text
