"""The archive: a compressed tar whose last member says what all others must be.

Packing reads each file once and notes what it read. Unpacking trusts nothing: members are plain
files with plain names, written below one folder, and each must turn out as the manifest says.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import tarfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import IO

from inferflow.app.backup.manifest import NAME, FileFacts, Manifest, parse_manifest
from inferflow.errors import InvalidInput

_PIECE = 1 << 20
_QUICK = 1
"""Compression: models and packed rows hardly shrink more for more time."""
_MANIFEST_BYTES = 256 << 20


class FileChanged(Exception):
    """A file was not the same at the end of its reading as at the beginning, or went away."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.path = path


class Packing:
    """An archive that is being written. Files are added one by one, then `finish`."""

    def __init__(self, file: IO[bytes]) -> None:
        self._tar = tarfile.open(  # noqa: SIM115  # closed by `finish`, or dropped with its file
            fileobj=file, mode="w:gz", compresslevel=_QUICK
        )
        self.files: dict[str, FileFacts] = {}

    def add(self, name: str, path: Path) -> None:
        """Raises FileChanged when the file is written to meanwhile."""
        try:
            with path.open("rb") as file:
                before = os.fstat(file.fileno())
                member = tarfile.TarInfo(name)
                member.size, member.mtime = before.st_size, int(before.st_mtime)
                member.mode = before.st_mode & 0o777
                reader = _Digesting(file)
                self._tar.addfile(member, reader)
                after = os.fstat(file.fileno())
        except FileNotFoundError as gone:
            raise FileChanged(path) from gone
        except OSError as failed:
            if _was_short(failed):
                raise FileChanged(path) from failed
            raise
        if (before.st_size, before.st_mtime_ns) != (after.st_size, after.st_mtime_ns):
            raise FileChanged(path)
        self.files[name] = FileFacts(
            before.st_size, reader.digest.hexdigest(), before.st_mtime_ns, member.mode
        )

    def finish(self, manifest: Manifest) -> None:
        text = manifest.text().encode()
        member = tarfile.TarInfo(NAME)
        member.size, member.mode = len(text), 0o600
        self._tar.addfile(member, io.BytesIO(text))
        self._tar.close()


def _was_short(failed: OSError) -> bool:
    """The tar module's own way to say that a file had fewer bytes than were announced."""
    return failed.errno is None and "unexpected end of data" in str(failed)


class _Digesting(io.RawIOBase):
    """Reads on, and digests what it has read."""

    def __init__(self, file: IO[bytes]) -> None:
        self._file = file
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        self.digest.update(data)
        return data


def unpack(archive: Path, folder: Path) -> Manifest:
    """Write every file of an archive below a folder, which is empty, and check it.

    Raises InvalidInput when the archive is none, is damaged, cut off or holds what no backup
    does. What was written until then is the caller's to delete.
    """
    found: dict[str, str] = {}
    manifest: Manifest | None = None
    try:
        with gzip.open(archive) as plain, tarfile.open(fileobj=plain, mode="r:") as tar:
            for member in tar:
                if manifest is not None:
                    raise InvalidInput(f"{archive}: not a backup: more follows its manifest")
                if member.name == NAME:
                    manifest = parse_manifest(_text(tar, member), str(archive))
                else:
                    path = _place(archive, folder, member)
                    path.parent.mkdir(parents=True, exist_ok=True)
                    found[member.name] = _write(tar, member, path)
            while plain.read(_PIECE):
                pass  # to the checksum at its end
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as broken:
        raise InvalidInput(f"{archive}: not a backup, or damaged: {broken}") from broken
    if manifest is None:
        raise InvalidInput(f"{archive}: not a whole backup: it ends before its manifest")
    _compare(archive, found, manifest.files)
    for name, facts in manifest.files.items():
        os.chmod(folder / name, facts.mode & 0o777)
        os.utime(folder / name, ns=(facts.mtime_ns, facts.mtime_ns))
    return manifest


def _text(tar: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    reader = tar.extractfile(member) if member.size <= _MANIFEST_BYTES else None
    return b"" if reader is None else reader.read()


def _place(archive: Path, folder: Path, member: tarfile.TarInfo) -> Path:
    """Where a member goes. Its name was written by somebody else."""
    name = PurePosixPath(member.name)
    is_plain = member.isreg() and not name.is_absolute() and ".." not in name.parts
    if not is_plain or name.parts[:1] not in {("project",), ("state",)} or "\\" in member.name:
        raise InvalidInput(f"{archive}: not a backup: it holds {member.name!r}")
    return folder / name


def _write(tar: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> str:
    reader = tar.extractfile(member)
    assert reader is not None  # a regular file has one
    digest = hashlib.sha256()
    with path.open("xb") as file:
        while data := reader.read(_PIECE):
            digest.update(data)
            file.write(data)
        file.flush()
        os.fsync(file.fileno())
    return digest.hexdigest()


def _compare(archive: Path, found: Mapping[str, str], wanted: Mapping[str, FileFacts]) -> None:
    wrong = sorted(
        name
        for name in {*found, *wanted}
        if name not in wanted or found.get(name) != wanted[name].sha256
    )
    if wrong:
        names = ", ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if len(wrong) > 3 else "")
        raise InvalidInput(f"{archive}: damaged: {names} is not what was backed up")
