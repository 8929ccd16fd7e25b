"""Models on disk: `<folder>/<model>/<version>/model.onnx`.

Versions are positive whole numbers, the highest is the default. A model's digest covers
every file of its version folder, so it changes when weights kept beside the model do.
Folders are looked at when asked, never watched; reading is repeated only for changed files.
"""

from __future__ import annotations

import difflib
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from inferflow.errors import ModelUnreadable, NotFound

FILE_NAME = "model.onnx"

_VERSION = re.compile(r"[1-9][0-9]{0,17}")

_Fingerprint = tuple[tuple[str, int, int, int, int], ...]
"""Name, size, inode and times of each file: cheap to take, and different when bytes may be."""


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One version of one model as it was when it was looked up."""

    model: str
    version: str
    path: Path
    digest: str

    @property
    def label(self) -> str:
        return f"{self.model}@{self.version}"

    @property
    def where(self) -> str:
        """The file as people find it: relative to the models folder."""
        return f"{self.model}/{self.version}/{FILE_NAME}"


@dataclass(frozen=True, slots=True)
class Oddity:
    """Something in the models folder that is not served, and why."""

    where: str
    what: str


class ModelRepository:
    """The models of one folder."""

    def __init__(self, folder: Path | str) -> None:
        self._folder = Path(folder)
        self._digests: dict[Path, tuple[_Fingerprint, str]] = {}

    def names(self) -> tuple[str, ...]:
        """Models with at least one version, sorted."""
        return tuple(name for name in _folders(self._folder) if self.versions(name))

    def versions(self, model: str) -> tuple[str, ...]:
        """Versions of a model that hold a model file, lowest first; empty for an unknown model."""
        if model not in _folders(self._folder):
            return ()
        home = self._folder / model
        found = (name for name in _folders(home) if _VERSION.fullmatch(name))
        return tuple(sorted((v for v in found if _has_file(home / v)), key=int))

    def find(self, model: str, version: str | None = None) -> ModelFile:
        """A version of a model, or its highest one.

        Raises NotFound, or ModelUnreadable when its files cannot be read.
        """
        versions = self.versions(model)
        if not versions:
            raise self._unknown(model)
        chosen = versions[-1] if version is None else version
        if chosen not in versions:
            raise NotFound("model", f"{model}@{chosen}", nearest=f"{model}@{versions[-1]}")
        path = self._folder / model / chosen / FILE_NAME
        return ModelFile(model, chosen, path, self._digest(path.parent, f"{model}@{chosen}"))

    def holds(self, file: ModelFile) -> bool:
        """Whether the bytes on disk still are the ones `file` was made from."""
        try:
            return self._digest(file.path.parent, file.label) == file.digest
        except ModelUnreadable:
            return False

    def oddities(self) -> tuple[Oddity, ...]:
        """Everything that looks as if it should be served, but is not."""
        return tuple(odd for model in _folders(self._folder) for odd in self._oddities_of(model))

    def _oddities_of(self, model: str) -> Iterator[Oddity]:
        if not os.access(self._folder / model, os.R_OK | os.X_OK):
            yield Oddity(model, "the folder cannot be read")
            return
        for name in _folders(self._folder / model):
            if not _VERSION.fullmatch(name):
                yield Oddity(f"{model}/{name}", "a version must be a positive whole number")
            elif not _has_file(self._folder / model / name):
                yield Oddity(f"{model}/{name}", f"holds no {FILE_NAME}")
        if not self.versions(model):
            yield Oddity(model, f"no version: expected {model}/1/{FILE_NAME}")

    def _unknown(self, model: str) -> NotFound | ModelUnreadable:
        if model in _folders(self._folder):
            hint = f"put the file at {model}/1/{FILE_NAME}"
            return ModelUnreadable(model, f"no version folder holds a {FILE_NAME}", hint)
        nearest = difflib.get_close_matches(model, self.names(), n=1)
        return NotFound("model", model, nearest=nearest[0] if nearest else "")

    def _digest(self, folder: Path, label: str) -> str:
        try:
            taken = _fingerprint(folder, label)
            known = self._digests.get(folder)
            if known is None or known[0] != taken:
                known = (taken, _content_digest(folder, taken))
                if _fingerprint(folder, label) != taken:
                    hint = "write the file elsewhere, then move it into place"
                    raise ModelUnreadable(label, "its files change while they are read", hint)
                self._digests[folder] = known
            return known[1]
        except OSError as failed:
            why = f"{Path(failed.filename or folder).name} cannot be read: {failed.strerror}"
            raise ModelUnreadable(label, why) from failed


def _folders(parent: Path) -> list[str]:
    """Names of the folders in a folder, sorted, without hidden ones; none if it cannot be read."""
    try:
        with os.scandir(parent) as entries:
            return sorted(e.name for e in entries if e.is_dir() and not e.name.startswith("."))
    except OSError:
        return []


def _has_file(version: Path) -> bool:
    return os.path.exists(version / FILE_NAME)


def _fingerprint(folder: Path, label: str) -> _Fingerprint:
    def refuse(failed: OSError) -> None:
        raise failed

    found = []
    for parent, _, names in os.walk(folder, onerror=refuse):
        for name in names:
            path = Path(parent, name)
            facts = path.stat()
            relative = path.relative_to(folder).as_posix()
            if not stat.S_ISREG(facts.st_mode):
                # A pipe or a device here would block whoever opens it.
                raise ModelUnreadable(label, f"{relative} is not a plain file")
            found.append(
                (relative, facts.st_size, facts.st_ino, facts.st_mtime_ns, facts.st_ctime_ns)
            )
    return tuple(sorted(found))


def _content_digest(folder: Path, taken: _Fingerprint) -> str:
    whole = hashlib.sha256()
    for relative, *_ in taken:
        with open(folder / relative, "rb") as opened:
            part = hashlib.file_digest(opened, "sha256").hexdigest()
        whole.update(f"{part}  {relative}\n".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()
