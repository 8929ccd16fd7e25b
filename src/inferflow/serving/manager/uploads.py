"""From the first byte to the last: uploads as a service.

An upload announces its files with sizes and checksums, receives their bytes in any number of calls,
and is resumed at the offset each file has reached, at whichever manager. What arrives is stored in
parts of its own. Nothing is visible until `publishing` has checked it whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from inferflow.access import KeyCard, Permission
from inferflow.errors import InvalidInput, NotFound, RegistryBusy, RegistryConflict
from inferflow.serving.manager.files import PARTS, ModelFiles, part_name
from inferflow.serving.manager.orders import UploadLimits, UploadOrder, check_order
from inferflow.serving.manager.storage import Storage, Transaction
from inferflow.serving.manager.storage.records import (
    AuditEntry,
    FileInfo,
    Part,
    Upload,
    UploadFile,
)


class Uploads:
    def __init__(
        self,
        storage: Storage,
        files: ModelFiles,
        clock: Callable[[], float],
        new_id: Callable[[], str],
        limits: UploadLimits | None = None,
        check_options: Callable[[Mapping[str, Any]], object] | None = None,
    ) -> None:
        """`clock` gives seconds since the epoch, `new_id` a name nobody can guess."""
        self._storage = storage
        self._files = files
        self._clock = clock
        self._new_id = new_id
        self.limits = limits or UploadLimits()
        self._check_options = check_options or _any_options

    async def begin(self, by: KeyCard, order: UploadOrder) -> Upload:
        """Announce a version. Its number is held until the upload ends.

        Who announces the same again before that gets the upload that was begun, to go on with.
        Raises InvalidInput, PermissionDenied, or RegistryConflict when the number is taken or
        the key has too much under way.
        """
        by.require(Permission.UPLOAD, order.model)
        check_order(order, self.limits)
        self._check_options(order.options)
        now_ms = self._now_ms()
        async with self._storage.writing(quietly=True) as tx:
            under_way = [u for u in await tx.uploads.all() if u.expires_ms > now_ms]
            begun = next((u for u in under_way if _is_same(u, by, order)), None)
            if begun is not None:
                await tx.uploads.extend(begun.upload_id, now_ms + self._lifetime_ms())
                return await self.mine(tx, by, begun.upload_id)
            await self._check_quota(tx, by, order, under_way)
            upload = Upload(
                upload_id=self._new_id(),
                model=order.model,
                number=await _number(tx, order, under_way),
                files=tuple(UploadFile(f.path, f.size, f.sha256) for f in order.files),
                created_ms=now_ms,
                expires_ms=now_ms + self._lifetime_ms(),
                created_by=by.key_id,
                options=order.options,
                description=order.description,
            )
            await _end_expired_holders(tx, upload, now_ms)
            await tx.uploads.add(upload)
        return upload

    async def status(self, by: KeyCard, upload_id: str) -> Upload:
        """How far an upload has come. Raises NotFound, also for uploads of others."""
        async with self._storage.reading() as tx:
            return await self.mine(tx, by, upload_id)

    async def append(
        self, by: KeyCard, upload_id: str, path: str, offset: int, data: bytes
    ) -> Upload:
        """Add bytes to a file from an offset it has reached; bytes it has already are skipped.

        Raises RegistryConflict when there would be a hole, or when somebody else added first.
        """
        upload = await self.status(by, upload_id)
        part = self._part(upload, path, offset, data)
        if part is None:
            return upload
        await self._files.write(part.object_name, data[part.offset - offset :])
        # The object of a loser is left behind; it goes when the upload ends.
        async with self._storage.writing(quietly=True) as tx:
            upload = await self.mine(tx, by, upload_id)
            _check_free(upload, self._now_ms())
            file = upload.file(path)
            if file is None or file.received != part.offset:
                raise RegistryConflict(f"{path}: somebody else is uploading it at the same time")
            await tx.uploads.add_part(upload_id, part)
            await tx.uploads.extend(upload_id, self._now_ms() + self._lifetime_ms())
            return await self.mine(tx, by, upload_id)

    async def abort(self, by: KeyCard, upload_id: str) -> None:
        """End an upload and forget its bytes; its number is free again."""
        async with self._storage.writing(quietly=True) as tx:
            upload = await self.mine(tx, by, upload_id)
            _check_free(upload, self._now_ms())
            await tx.uploads.delete(upload_id)
            model, subject = upload.model, f"{upload.model}@{upload.number}"
            await tx.audit.add(
                AuditEntry(self._now_ms(), by.key_id, "upload aborted", subject, model=model)
            )
        await self._files.delete_folder(f"{PARTS}/{upload_id}")

    async def mine(self, tx: Transaction, by: KeyCard, upload_id: str) -> Upload:
        """An upload this key may work on. Raises NotFound or PermissionDenied."""
        upload = await tx.uploads.get(upload_id)
        is_mine = upload is not None and upload.created_by == by.key_id
        if upload is None or upload.expires_ms <= self._now_ms():
            raise NotFound("upload", upload_id)
        if not is_mine and Permission.ADMIN not in by.permissions:
            raise NotFound("upload", upload_id)
        by.require(Permission.UPLOAD, upload.model)
        return upload

    def _part(self, upload: Upload, path: str, offset: int, data: bytes) -> Part | None:
        """The part of these bytes that is new; None when nothing is."""
        file = upload.file(path)
        if file is None:
            raise InvalidInput(f"path: {path[:60]!r} is no file of this upload")
        if offset < 0 or offset > file.received:
            raise RegistryConflict(
                f"{path}: {file.received} bytes are here; go on from there, not at {offset}"
            )
        if offset + len(data) > file.size:
            raise InvalidInput(f"{path}: more bytes than the {file.size} that were announced")
        if len(data) > self.limits.part_bytes:
            raise InvalidInput(f"data: {len(data)} bytes; at most {self.limits.part_bytes} at once")
        size = offset + len(data) - file.received
        if size <= 0:
            return None
        name = part_name(upload.upload_id, self._new_id())
        return Part(path, file.received, size, name)

    async def _check_quota(
        self, tx: Transaction, by: KeyCard, order: UploadOrder, under_way: list[Upload]
    ) -> None:
        own = [upload for upload in under_way if upload.created_by == by.key_id]
        if len(own) >= self.limits.open_per_key:
            raise RegistryConflict(
                f"key {by.key_id!r} has {len(own)} uploads under way; finish or abort one first"
            )
        if self.limits.key_bytes is not None:
            taken = await tx.models.bytes_of(by.key_id) + sum(upload.size for upload in own)
            wanted = sum(file.size for file in order.files)
            if taken + wanted > self.limits.key_bytes:
                raise RegistryConflict(
                    f"key {by.key_id!r} has {taken} of its {self.limits.key_bytes} bytes taken; "
                    f"{wanted} more do not fit"
                )

    def _lifetime_ms(self) -> int:
        return int(self.limits.lifetime_s * 1000)

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)


def _any_options(_: Mapping[str, Any]) -> None:
    """Where nobody knows what workers understand."""


def _is_same(upload: Upload, by: KeyCard, order: UploadOrder) -> bool:
    announced = tuple(FileInfo(file.path, file.size, file.sha256) for file in upload.files)
    return (
        upload.created_by == by.key_id
        and upload.model == order.model
        and order.number in (None, upload.number)
        and set(announced) == set(order.files)
        and upload.options == dict(order.options)
        and upload.description == order.description
    )


def _check_free(upload: Upload, now_ms: int) -> None:
    if upload.claimed_until_ms > now_ms:
        raise RegistryBusy("the upload is being checked; ask again in a moment")


async def _number(tx: Transaction, order: UploadOrder, under_way: list[Upload]) -> int:
    """The number of the new version. Numbers only go up, so none ever means two things."""
    held = {upload.number for upload in under_way if upload.model == order.model}
    last = await tx.models.last_number(order.model)
    if order.number is None:
        return max(held | {last}) + 1
    if order.number in held:
        raise RegistryConflict(
            f"model {order.model!r} version {order.number} is being uploaded already"
        )
    if order.number <= last:
        raise RegistryConflict(
            f"model {order.model!r} has had versions up to {last}; the next must be higher"
        )
    return order.number


async def _end_expired_holders(tx: Transaction, upload: Upload, now_ms: int) -> None:
    """An upload that expired, and that nobody has cleaned up yet, holds no number."""
    for other in await tx.uploads.all():
        is_same = (other.model, other.number) == (upload.model, upload.number)
        if is_same and other.expires_ms <= now_ms:
            await tx.uploads.delete(other.upload_id)
