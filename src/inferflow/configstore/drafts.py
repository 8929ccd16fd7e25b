"""What every store asks of a push, before it writes anything."""

from __future__ import annotations

from inferflow.configstore.folder import documents_of
from inferflow.configstore.versions import (
    Document,
    Draft,
    Expected,
    Version,
    check_expected,
    content_hash,
    is_hash_of,
    said,
)
from inferflow.errors import InvalidInput, VersionConflict

LONGEST_ID_BYTES = 200
_NOT_IN_NAMES = frozenset('/\\:*?"<>|')
"""What one or another file system does not take."""


def check_draft(draft: Draft) -> Document:
    """The one config a text is. Raises InvalidInput when it is not that."""
    size = len(draft.id.encode("utf-8", "surrogatepass"))
    if not draft.id.isprintable() or not 0 < size <= LONGEST_ID_BYTES:
        raise InvalidInput(f"{draft.id!r} cannot be a config's id")
    found = documents_of(draft.text, draft.format, stem=draft.id, file=f"{draft.id}.{draft.format}")
    ids = [each.id for each in found]
    if ids != [draft.id]:
        raise InvalidInput(
            f"the text holds {', '.join(map(repr, ids))}; "
            f"push it under that id, or as {draft.id!r} alone"
        )
    return found[0]


def can_be_a_name(config_id: str) -> bool:
    """Whether an id can be the name of a file, wherever configs are kept: they move."""
    return not config_id.startswith(".") and not any(each in _NOT_IN_NAMES for each in config_id)


def is_recorded(there: Document | None, latest: Version | None) -> bool:
    """Whether what is written now is the newest version."""
    if there is None:
        return latest is None or latest.is_removal
    return latest is not None and latest.hash == there.hash


def check_push(
    draft: Draft, there: Document | None, latest: Version | None, expected: Expected | None
) -> bool:
    """Whether the push would bury an edit that no version has. Raises VersionConflict unless what
    is there is what the push was made for."""
    # A config pushed from where it lies is no edit that the push would bury.
    is_settled = is_recorded(there, latest) or (there is not None and there.text == draft.text)
    if expected is not None and not (there and is_hash_of(expected, there.hash)):
        check_expected(draft.id, latest, expected)
        if not is_settled:
            found = "no config any more" if there is None else f"an edit of {there.file} since"
            number = 0 if latest is None else latest.number
            raise VersionConflict(draft.id, said(expected), found, number)
    return not is_settled


def next_version(draft: Draft, latest: Version | None, at_ms: int) -> Version:
    return Version(
        id=draft.id,
        number=1 if latest is None else latest.number + 1,
        hash="" if draft.origin == "removed" else content_hash(draft.text),
        format=draft.format,
        at_ms=at_ms,
        author=draft.author,
        origin=draft.origin,
        checks=draft.checks,
        note=draft.note,
    )
