"""Makes a version of a complete upload: whole, checked, and only then visible.

    claimed ─► assembled, checksums ─► looked at and tried ─► stored ─► published, upload ended
                       └───────────────┴─► refused: the upload ends, nothing remains

A model that is refused takes its upload with it: the same bytes would be refused again. When the
manager itself fails, the upload stays and can be finished later.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import os
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from inferflow.access import KeyCard, Permission
from inferflow.errors import (
    InferflowError,
    InvalidInput,
    ModelUnreadable,
    RegistryBusy,
    RegistryConflict,
    RegistryFailed,
)
from inferflow.serving.manager.files import MODELS, PARTS, ModelFiles, file_name
from inferflow.serving.manager.intake import Findings, IntakeLimits, check_model
from inferflow.serving.manager.live import LiveRegistry
from inferflow.serving.manager.registry import move
from inferflow.serving.manager.stages import version_of
from inferflow.serving.manager.storage import Storage
from inferflow.serving.manager.storage.records import (
    AuditEntry,
    FileInfo,
    Part,
    Stage,
    StageChange,
    Upload,
    Version,
)
from inferflow.serving.manager.uploads import Uploads

CLAIM_S = 900.0
"""How long checking may take before another manager may try."""

Checker = Callable[[str, Path, Sequence[FileInfo], IntakeLimits], Awaitable[Findings]]


class Publishing:
    def __init__(
        self,
        storage: Storage,
        files: ModelFiles,
        live: LiveRegistry,
        uploads: Uploads,
        clock: Callable[[], float],
        new_id: Callable[[], str],
        *,
        intake: IntakeLimits | None = None,
        check: Checker = check_model,
        scratch: Path | None = None,
    ) -> None:
        """`scratch` is where files are put together; it must be open to other users to look into,
        as the process that tries models may be one."""
        self._storage = storage
        self._files = files
        self._live = live
        self._uploads = uploads
        self._clock = clock
        self._new_id = new_id
        self._intake = intake or IntakeLimits()
        self._check = check
        self._scratch = scratch

    async def finish(self, by: KeyCard, upload_id: str, stage: Stage = Stage.DEV) -> Version:
        """Check an upload and publish it. Raises ModelUnreadable or InvalidInput for one that
        is refused, RegistryConflict for one that is not complete."""
        upload, claim = await self._claim(by, upload_id, stage)
        folder = self._new_id()
        try:
            findings = await self._checked(upload, folder)
            version = self._version(upload, folder, findings, by)
            published = await self._publish(by, upload, claim, version, stage)
        except (ModelUnreadable, InvalidInput) as refused:
            await self._refuse(by, upload, folder, refused)
            raise
        except BaseException:
            await self._give_back(upload_id, claim, folder)
            raise
        await self._live.refresh()
        await self._drop(f"{PARTS}/{upload_id}")
        return published

    async def _claim(self, by: KeyCard, upload_id: str, stage: Stage) -> tuple[Upload, int]:
        """Make sure that nobody else works on it. The time a claim ends is its name."""
        now_ms = int(self._clock() * 1000)
        claim = now_ms + int(CLAIM_S * 1000)
        async with self._storage.writing(quietly=True) as tx:
            upload = await self._uploads.mine(tx, by, upload_id)
            if stage is not Stage.DEV:
                by.require(Permission.ADMIN, upload.model)
            if upload.claimed_until_ms > now_ms:
                raise RegistryBusy("the upload is being checked already")
            missing = [file.path for file in upload.files if not file.is_complete]
            if missing:
                raise RegistryConflict(f"the upload is not complete: {', '.join(missing[:5])}")
            await tx.uploads.claim(upload_id, claim)
        return upload, claim

    async def _checked(self, upload: Upload, folder: str) -> Findings:
        try:
            with tempfile.TemporaryDirectory(prefix="intake-", dir=self._scratch) as made:
                home = Path(made)
                home.chmod(0o755)
                await self._assemble(upload, home)
                findings = await self._check(upload.model, home, _infos(upload), self._intake)
                for place, file in enumerate(upload.files):
                    await self._files.write_file(file_name(folder, place), home / file.path)
                return findings
        except OSError as failed:
            raise RegistryFailed(f"the upload cannot be put together: {failed}") from failed

    async def _assemble(self, upload: Upload, home: Path) -> None:
        async with self._storage.reading() as tx:
            parts = await tx.uploads.parts(upload.upload_id)
        for file in upload.files:
            target = home / file.path
            for parent in reversed(target.relative_to(home).parents[:-1]):
                (home / parent).mkdir(mode=0o755, exist_ok=True)
            own = [part for part in parts if part.path == file.path]
            digest = await self._join(own, target)
            if digest != file.sha256:
                raise InvalidInput(
                    f"{file.path}: its bytes have the checksum {digest}, "
                    f"and {file.sha256} was announced; upload it again"
                )

    async def _join(self, parts: Sequence[Part], target: Path) -> str:
        """Write parts one after another; the checksum of all of them."""
        whole = hashlib.sha256()
        handle = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o644)
        with os.fdopen(handle, "wb") as opened:
            for part in parts:
                async for piece in self._files.read(part.object_name):
                    await asyncio.gather(
                        asyncio.to_thread(opened.write, piece),
                        asyncio.to_thread(whole.update, piece),
                    )
        return whole.hexdigest()

    def _version(self, upload: Upload, folder: str, found: Findings, by: KeyCard) -> Version:
        now_ms = int(self._clock() * 1000)
        files = _infos(upload)
        return Version(
            model=upload.model,
            number=upload.number,
            stage=Stage.DEV,
            folder=folder,
            digest=digest_of(files),
            files=files,
            inputs=found.inputs,
            outputs=found.outputs,
            created_ms=now_ms,
            created_by=upload.created_by,
            options=upload.options,
            description=upload.description,
            note=found.note,
            history=(StageChange(None, Stage.DEV, now_ms, by.key_id, "published"),),
        )

    async def _publish(
        self, by: KeyCard, upload: Upload, claim: int, version: Version, stage: Stage
    ) -> Version:
        async with self._storage.writing() as tx:
            current = await tx.uploads.get(upload.upload_id)
            if current is None or current.claimed_until_ms != claim:
                raise RegistryConflict("checking took so long that somebody else took over")
            await tx.models.add_version(version)
            await tx.uploads.delete(upload.upload_id)
            subject = f"{version.model}@{version.number}"
            detail = {"digest": version.digest, "size": version.size}
            at_ms, name = version.created_ms, version.model
            await tx.audit.add(
                AuditEntry(at_ms, by.key_id, "version published", subject, detail, name)
            )
            model = await tx.models.get(name)
            assert model is not None
            await move(tx, by, model, version.number, stage, at_ms=at_ms, reason="published")
            moved = await tx.models.get(name)
            assert moved is not None
            return version_of(moved, version.number)

    async def _refuse(
        self, by: KeyCard, upload: Upload, folder: str, refused: InferflowError
    ) -> None:
        async with self._storage.writing(quietly=True) as tx:
            await tx.uploads.delete(upload.upload_id)
            subject = f"{upload.model}@{upload.number}"
            at_ms, detail = int(self._clock() * 1000), {"why": str(refused)[:1000]}
            await tx.audit.add(
                AuditEntry(at_ms, by.key_id, "upload refused", subject, detail, upload.model)
            )
        await self._drop(f"{PARTS}/{upload.upload_id}")
        await self._drop(f"{MODELS}/{folder}")

    async def _give_back(self, upload_id: str, claim: int, folder: str) -> None:
        with contextlib.suppress(RegistryFailed, RegistryBusy):
            async with self._storage.writing(quietly=True) as tx:
                current = await tx.uploads.get(upload_id)
                if current is not None and current.claimed_until_ms == claim:
                    await tx.uploads.claim(upload_id, 0)
        await self._drop(f"{MODELS}/{folder}")

    async def _drop(self, folder: str) -> None:
        """Objects nobody refers to. What cannot be deleted now, housekeeping finds later."""
        with contextlib.suppress(RegistryFailed):
            await self._files.delete_folder(folder)


def digest_of(files: Sequence[FileInfo]) -> str:
    """One name for the bytes of a version: the same as a folder with these files has anywhere."""
    whole = hashlib.sha256()
    for file in sorted(files, key=lambda file: file.path):
        whole.update(f"{file.sha256}  {file.path}\n".encode())
    return whole.hexdigest()


def _infos(upload: Upload) -> tuple[FileInfo, ...]:
    return tuple(FileInfo(file.path, file.size, file.sha256) for file in upload.files)
