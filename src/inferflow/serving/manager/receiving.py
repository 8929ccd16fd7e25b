"""Gathers a stream of small pieces into parts worth storing.

A caller sends pieces of whatever size its transport likes. The first piece of a file says which
file, and from where; later ones go on where the last ended. What was gathered when the stream
breaks off cleanly is stored; the offset the upload reports is where to resume.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass

from inferflow.access import KeyCard
from inferflow.errors import InvalidInput
from inferflow.serving.manager.storage.records import Upload
from inferflow.serving.manager.uploads import Uploads


@dataclass(frozen=True, slots=True)
class Piece:
    data: bytes
    path: str = ""
    """Empty: the file of the piece before."""
    offset: int = 0
    """Only looked at where a path is given."""


async def receive(
    uploads: Uploads, by: KeyCard, upload_id: str, pieces: AsyncIterator[Piece]
) -> Upload:
    """Add all pieces of a stream to an upload; how far it has come then."""
    most = uploads.limits.part_bytes
    path, offset, held = "", 0, bytearray()
    async for piece in pieces:
        if piece.path:
            await _store(uploads, by, upload_id, path, offset, held)
            path, offset, held = piece.path, piece.offset, bytearray()
        elif not path:
            raise InvalidInput("path: the first piece must say which file it belongs to")
        held += piece.data
        while len(held) >= most:
            await _store(uploads, by, upload_id, path, offset, held[:most])
            offset, held = offset + most, held[most:]
    await _store(uploads, by, upload_id, path, offset, held)
    return await uploads.status(by, upload_id)


async def _store(
    uploads: Uploads, by: KeyCard, upload_id: str, path: str, offset: int, held: bytearray
) -> None:
    if held:
        await uploads.append(by, upload_id, path, offset, bytes(held))
