"""Files on their way to the registry, in pieces; an upload that was cut off goes on.

The manager knows how far each file has come. Announcing the same files again finds the upload that
was begun, so nothing has to be remembered here.
"""

from __future__ import annotations

import hashlib
import json
import random
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from inferflow.client.manager.calls import ManagerCalls, declared
from inferflow.client.pausing import pause
from inferflow.errors import InvalidInput, NotFound, RegistryConflict, Unreachable

Message = Any
UploadFiles = Mapping[str, Path]
"""Files by their names inside the version; the model itself is `model.onnx`."""
Progress = Callable[[str, int, int], None]
"""Told a file's name, its bytes done, and its bytes in all."""

MODEL_FILE = "model.onnx"
PIECE_BYTES = 1 << 20
CHECKING_S = 600.0
"""The manager looks at the model and tries it before it answers."""
_ATTEMPTS = 12
_LONGEST_PAUSE_S = 5.0


def files_at(path: Path) -> dict[str, Path]:
    """What to upload for a path: a model file alone, or all files of a folder."""
    if path.is_file():
        return {MODEL_FILE: path}
    if not path.is_dir():
        raise InvalidInput(f"{path}: there is no such file or folder")
    found = {each.relative_to(path).as_posix(): each for each in path.rglob("*") if each.is_file()}
    if MODEL_FILE not in found:
        raise InvalidInput(f"{path}: holds no {MODEL_FILE}")
    return dict(sorted(found.items()))


def upload(
    calls: ManagerCalls,
    model: str,
    files: UploadFiles,
    *,
    version: str,
    stage: str,
    options: Mapping[str, Any],
    description: str,
    progress: Progress | None,
    wait: Callable[[float], object] = time.sleep,
) -> Message:
    """The version that was made. Raises what the manager said when it was refused."""
    order = declared("BeginUploadRequest")(
        model=model,
        version=version,
        files=[_info(name, path) for name, path in files.items()],
        options_json=json.dumps(dict(options)) if options else "",
        description=description,
    )
    # Announcing the same again gives the same upload, so it may be repeated.
    status = calls.ask("Registry/BeginUpload", order, "UploadStatus", repeatable=True)
    status = _sent(calls, status, files, progress, wait)
    return _finished(calls, status, stage, wait)


def _sent(
    calls: ManagerCalls,
    status: Message,
    files: UploadFiles,
    progress: Progress | None,
    wait: Callable[[float], object],
) -> Message:
    asked = declared("GetUploadRequest")(upload_id=status.upload_id)
    failures = 0
    while any(file.received < file.size for file in status.files):
        before = status
        try:
            pieces = partial(_pieces, before, files, progress)
            status = calls.send("Registry/UploadChunks", pieces, "UploadStatus")
        except Unreachable:
            failures += 1
            if failures == _ATTEMPTS:
                raise
            wait(pause(failures, random.random(), longest_s=_LONGEST_PAUSE_S))
            with suppress(Unreachable):  # the next attempt tells
                status = calls.ask("Registry/GetUpload", asked, "UploadStatus", repeatable=True)
        if _received(status) > _received(before):
            failures = 0
    return status


def _finished(
    calls: ManagerCalls, status: Message, stage: str, wait: Callable[[float], object]
) -> Message:
    """The version. A manager that went away may have made it all the same: then the upload is gone
    and the version is there."""
    finish = declared("FinishUploadRequest")(upload_id=status.upload_id, stage=stage)
    for attempt in range(1, _ATTEMPTS):
        try:
            return calls.ask("Registry/FinishUpload", finish, "ModelVersion", timeout_s=CHECKING_S)
        except Unreachable:
            wait(pause(attempt, random.random(), longest_s=_LONGEST_PAUSE_S))
        except NotFound:
            if attempt == 1:
                raise
            return _published(calls, status)
    return calls.ask("Registry/FinishUpload", finish, "ModelVersion", timeout_s=CHECKING_S)


def _published(calls: ManagerCalls, status: Message) -> Message:
    asked = declared("GetModelRequest")(name=status.model)
    model = calls.ask("Registry/GetModel", asked, "Model", repeatable=True)
    for version in model.versions:
        if version.version == status.version:
            return version
    raise RegistryConflict(
        f"the upload of {status.model}@{status.version} ended without a version; upload it again"
    )


def _received(status: Message) -> int:
    return sum(file.received for file in status.files)


def _pieces(status: Message, files: UploadFiles, progress: Progress | None) -> Iterator[Message]:
    chunk = declared("UploadChunk")
    for file in status.files:
        if file.received == file.size:
            continue
        with open(files[file.path], "rb") as opened:
            opened.seek(file.received)
            at, name = file.received, file.path
            while data := opened.read(PIECE_BYTES):
                yield chunk(upload_id=status.upload_id, path=name, offset=at, data=data)
                at += len(data)
                name = ""  # the pieces after it go on where it ended
                if progress is not None:
                    progress(file.path, min(at, file.size), file.size)
            if at != file.size:
                raise RegistryConflict(f"{files[file.path]}: changed while it was uploaded")


def _info(name: str, path: Path) -> Message:
    with open(path, "rb") as opened:
        digest = hashlib.file_digest(opened, "sha256").hexdigest()
    return declared("ModelFileInfo")(path=name, size=path.stat().st_size, sha256=digest)
