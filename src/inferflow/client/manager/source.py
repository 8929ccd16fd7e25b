"""A worker's models from the registry, fetched when they are needed and kept by their digest.

A fetch that was cut off goes on where it ended. What arrives is checked against the checksums of
the registry before it gets its name, and what lies in the cache is checked again before it is
loaded; bytes that are wrong are fetched once more, and after that refused and reported. Versions
that the registry no longer has leave the cache.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from inferflow.client.manager.calls import ManagerCalls, declared
from inferflow.client.manager.orders import RemoteFile, RemoteVersion
from inferflow.errors import (
    InferflowError,
    ModelUnavailable,
    ModelUnreadable,
    NotFound,
    Unreachable,
)
from inferflow.serving.runtime import ModelRepository
from inferflow.serving.runtime.repository import ModelFile

_ATTEMPTS = 3
_ONLY = "1"
"""In the cache every digest is a model of its own, with one version."""


class ManagerSource:
    """A `ModelSource`. Called from threads."""

    def __init__(self, calls: ManagerCalls, cache: Path, ask_again: Callable[[], bool]) -> None:
        """`ask_again` sees to it that what the manager has published until now is known, and says
        whether it is: it is used when somebody asks for a version that is not."""
        self._calls = calls
        self._ask_again = ask_again
        self._whole = cache / "models"
        self._parts = cache / "parts"
        self._repository = ModelRepository(self._whole)
        self._versions: Mapping[tuple[str, str], RemoteVersion] = {}
        self._fetching: dict[str, threading.Lock] = {}
        self.corrupt: dict[tuple[str, str], str] = {}
        """Versions whose bytes are wrong at the manager, with what was found."""

    def use(self, versions: tuple[RemoteVersion, ...]) -> None:
        """What the registry has from now on."""
        self._versions = {(each.model, each.version): each for each in versions}
        self.corrupt = {key: why for key, why in self.corrupt.items() if key in self._versions}

    def options(self, model: str) -> Mapping[str, object]:
        """Serving options of a model: those of the version callers get who name none."""
        found = [each for (name, _), each in self._versions.items() if name == model]
        return found[-1].options if found else {}

    def index(self, *, is_urgent: bool) -> Mapping[str, tuple[str, ...]]:
        """What there is. When it is urgent the manager is asked first: a caller may have come
        straight from it, with a version that this worker has not heard of yet."""
        if is_urgent and not self._ask_again():
            asked = ", ".join(self._calls.addresses)
            raise Unreachable(asked, 1, "no manager could be asked for a version not known here")
        found: dict[str, list[str]] = {}
        for model, version in self._versions:
            found.setdefault(model, []).append(version)
        return {model: tuple(versions) for model, versions in found.items()}

    def fetch(self, model: str, version: str) -> ModelFile:
        wanted = self._versions.get((model, version))
        if wanted is None:
            raise NotFound("model", f"{model}@{version}")
        lock = self._fetching.setdefault(wanted.digest, threading.Lock())
        with lock:
            try:
                file = self._cached(wanted) or self._fetched(wanted)
            except OSError as failed:
                why = f"its files cannot be kept here: {failed.strerror or failed}"
                raise ModelUnavailable(_label(wanted), why) from failed
        self.corrupt.pop((model, version), None)
        return replace(file, model=model, version=version)

    def prune(self) -> None:
        """Drop what no version needs any more."""
        needed = {each.digest for each in self._versions.values()}
        for folder in (self._whole, self._parts):
            for found in folder.iterdir() if folder.is_dir() else ():
                if found.name not in needed:
                    shutil.rmtree(found, ignore_errors=True)

    def _cached(self, wanted: RemoteVersion) -> ModelFile | None:
        """What is here already; None when it is not, or is not what it was."""
        home = self._whole / wanted.digest
        if not home.is_dir():
            return None
        try:
            file = self._repository.find(wanted.digest, _ONLY)
            if file.digest == wanted.digest:
                return file
        except InferflowError:
            pass  # as good as missing
        shutil.rmtree(home)
        return None

    def _fetched(self, wanted: RemoteVersion) -> ModelFile:
        parts = self._parts / wanted.digest
        for file in wanted.files:
            self._fetch_file(wanted, file, parts / file.path)
        home = self._whole / wanted.digest / _ONLY
        home.parent.mkdir(parents=True, exist_ok=True)
        os.replace(parts, home)
        return self._repository.find(wanted.digest, _ONLY)

    def _fetch_file(self, wanted: RemoteVersion, file: RemoteFile, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        for attempt in range(1, _ATTEMPTS + 1):
            try:
                self._receive(wanted, file, target)
            except InferflowError as failed:
                if attempt == _ATTEMPTS or isinstance(failed, NotFound):
                    raise ModelUnavailable(_label(wanted), f"not fetched: {failed}") from failed
                continue
            found = _sha256(target)
            if found == file.sha256:
                return
            target.unlink()
        why = f"{file.path} has the checksum {found}, and {file.sha256} was promised"
        self.corrupt[wanted.model, wanted.version] = why
        raise ModelUnreadable(_label(wanted), why, "upload the version again")

    def _receive(self, wanted: RemoteVersion, file: RemoteFile, target: Path) -> None:
        """The bytes that are missing. More than there should be are thrown away."""
        have = target.stat().st_size if target.exists() else 0
        if have > file.size:
            target.unlink()
            have = 0
        with open(target, "ab") as opened:
            if have < file.size:
                request = declared("FetchModelRequest")(
                    model=wanted.model, version=wanted.version, path=file.path, offset=have
                )
                for chunk in self._calls.stream("Fleet/FetchModel", request, "FetchModelChunk"):
                    opened.write(chunk.data)
            opened.flush()
            os.fsync(opened.fileno())


def _label(wanted: RemoteVersion) -> str:
    return f"{wanted.model}@{wanted.version}"


def _sha256(path: Path) -> str:
    with open(path, "rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()
