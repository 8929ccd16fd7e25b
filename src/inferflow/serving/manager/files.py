"""The bytes of models: in a folder, or in any object store by URL. obstore is known here only.

Objects are written once under names made by the manager and never changed:

    parts/<upload>/<…>      stretches of files on their way in
    models/<folder>/<n>     the n-th file of a published version
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING

from inferflow.errors import InvalidInput, MissingExtra, RegistryFailed

if TYPE_CHECKING:
    from obstore.store import ObjectStore

PIECE_BYTES = 4 << 20

PARTS = "parts"
MODELS = "models"


class ModelFiles:
    """Objects by name. Raises RegistryFailed when the store does not do as it is asked."""

    def __init__(self, store: ObjectStore, where: str) -> None:
        self._store = store
        self._where = where

    async def write(self, name: str, data: bytes) -> None:
        """Keep bytes under a name nobody has used."""
        import obstore

        try:
            await obstore.put_async(self._store, name, data, mode="create")
        except Exception as failed:  # the vendor's errors and the system's share no base
            raise self._told("write", name, failed) from failed

    async def write_file(self, name: str, path: Path) -> None:
        """Keep a local file under a name nobody has used. Large ones go in pieces."""
        import obstore

        if path.stat().st_size <= PIECE_BYTES:
            await self.write(name, path.read_bytes())
            return
        try:
            # Stores cannot refuse to overwrite in pieces, but the folder in the name is new.
            await obstore.put_async(self._store, name, path, chunk_size=PIECE_BYTES * 2)
        except Exception as failed:  # as above
            raise self._told("write", name, failed) from failed

    async def read(self, name: str, *, offset: int = 0) -> AsyncIterator[bytes]:
        """An object's bytes from an offset on, in pieces."""
        import obstore

        try:
            found = await obstore.get_async(
                self._store, name, options={"range": {"offset": offset}} if offset else {}
            )
            async for piece in found.stream(min_chunk_size=PIECE_BYTES):
                yield bytes(piece)
        except Exception as failed:  # as above
            raise self._told("read", name, failed) from failed

    async def delete_folder(self, folder: str) -> None:
        """Delete every object below a name. What is gone already is no error."""
        import obstore

        try:
            async for batch in obstore.list(self._store, prefix=folder):
                names = [found["path"] for found in batch]
                await obstore.delete_async(self._store, names)
        except FileNotFoundError:
            return
        except Exception as failed:  # as above
            raise self._told("delete", folder, failed) from failed

    async def folders(self, kind: str) -> dict[str, int]:
        """Folders of one kind, with the time in ms their newest object was written."""
        import obstore

        newest: dict[str, int] = {}
        try:
            async for batch in obstore.list(self._store, prefix=kind):
                for found in batch:
                    folder = found["path"].split("/")[1]
                    written = int(found["last_modified"].timestamp() * 1000)
                    newest[folder] = max(written, newest.get(folder, 0))
        except Exception as failed:  # as above
            raise self._told("list", kind, failed) from failed
        return newest

    def _told(self, doing: str, name: str, failed: Exception) -> RegistryFailed:
        why = " ".join(str(failed).split())[:200]
        return RegistryFailed(f"the model store {self._where} did not {doing} {name!r}: {why}")


def open_files(where: str | Path) -> ModelFiles:
    """The store in a folder, which is made, or at a URL such as `s3://bucket/prefix`."""
    try:
        from obstore.exceptions import BaseError
        from obstore.store import LocalStore, from_url
    except ModuleNotFoundError as missing:
        raise MissingExtra("manager", for_what="the model store") from missing
    text = str(where)
    is_folder = isinstance(where, Path) or "://" not in text or text.startswith("file://")
    try:
        if is_folder:
            folder = Path(text.removeprefix("file://"))
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            return ModelFiles(LocalStore(folder), text)
        return ModelFiles(from_url(text), text)
    except OSError as failed:
        raise RegistryFailed(f"the model store {text}: {failed.strerror or failed}") from failed
    except (BaseError, ValueError) as failed:
        raise InvalidInput(f"the model store {text}: {failed}") from failed


def part_name(upload_id: str, part_id: str) -> str:
    return f"{PARTS}/{upload_id}/{part_id}"


def file_name(folder: str, place: int) -> str:
    return f"{MODELS}/{folder}/{place}"
