"""Files of a model on their way to disk: in pieces, never whole in memory.

They lie under numbers and not under the names they came with, so that no name can lead anywhere;
names are only what they are called inside the version.
"""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from fastapi import Request
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser
from starlette.requests import ClientDisconnect

from inferflow.errors import InvalidRequest

MODEL_FILE = "model.onnx"
MOST_FILES = 256
MOST_FIELDS = 16
LONGEST_FIELD = 64 * 1024
_PIECE = 1 << 20
_FIELDS = frozenset({"version", "stage", "description"})


@dataclass(frozen=True, slots=True)
class Arrived:
    files: dict[str, Path]
    """By their names inside the version."""
    fields: dict[str, str]

    def field(self, name: str) -> str:
        return self.fields.get(name, "")


class _Form(MultiPartParser):
    """Refuses a body that is cut off, too: what came of it is not what was meant."""

    def __init__(self, request: Request) -> None:
        super().__init__(
            request.headers,
            self._whole(request),
            max_files=MOST_FILES,
            max_fields=MOST_FIELDS,
            max_part_size=LONGEST_FIELD,
        )
        self._has_ended = False

    def on_end(self) -> None:
        self._has_ended = True

    async def _whole(self, request: Request) -> AsyncGenerator[bytes, None]:
        async for piece in request.stream():
            yield piece
        if not self._has_ended:
            raise MultiPartException("ended before its end")


@asynccontextmanager
async def arriving(request: Request) -> AsyncIterator[Arrived]:
    """What a multipart body holds, on disk until the block is left. Raises InvalidRequest."""
    kind = request.headers.get("content-type", "")
    if not kind.startswith("multipart/form-data"):
        raise InvalidRequest("body", "files come as multipart/form-data")
    try:
        form = await _Form(request).parse()
    except MultiPartException as broken:
        raise InvalidRequest("body", broken.message) from broken
    except ClientDisconnect as left:
        raise InvalidRequest("body", "ended before its end") from left
    try:
        with tempfile.TemporaryDirectory(prefix="inferflow-upload-") as folder:
            yield Arrived(await _kept(form, Path(folder)), _fields(form))
    finally:
        await form.close()


async def _kept(form: FormData, folder: Path) -> dict[str, Path]:
    parts = [part for part in form.getlist("file") if isinstance(part, UploadFile)]
    if not parts:
        raise InvalidRequest("file", "at least one file is wanted")
    files: dict[str, Path] = {}
    for number, part in enumerate(parts):
        name = MODEL_FILE if len(parts) == 1 else _name(part)
        if name in files:
            raise InvalidRequest("file", f"{name!r} is there twice")
        files[name] = folder / str(number)
        await asyncio.to_thread(_write, part, files[name])
    if MODEL_FILE not in files:
        raise InvalidRequest("file", f"none of the files is {MODEL_FILE}")
    return files


def _write(part: UploadFile, path: Path) -> None:
    part.file.seek(0)
    with open(path, "wb") as written:
        shutil.copyfileobj(part.file, written, _PIECE)


def _name(part: UploadFile) -> str:
    given = part.filename or ""
    path = PurePosixPath(given)
    if not given or path.is_absolute() or ".." in path.parts or "\\" in given:
        raise InvalidRequest("file", f"{given[:200]!r} cannot be the name of a model's file")
    return path.as_posix()


def _fields(form: FormData) -> dict[str, str]:
    for name in form:
        if name != "file" and name not in _FIELDS:
            raise InvalidRequest(name, "unknown field", f"one of {', '.join(sorted(_FIELDS))}")
        if name != "file" and not isinstance(form[name], str):
            raise InvalidRequest(name, "text is wanted, not a file")
    return {name: str(form[name]) for name in _FIELDS if name in form}
