"""What must be done now and then: uploads nobody goes on with, objects nobody refers to.

Every step looks before it acts, so several managers may do it at once, or none for a while.
"""

from __future__ import annotations

from collections.abc import Callable

from inferflow.serving.manager.files import MODELS, PARTS, ModelFiles
from inferflow.serving.manager.storage import Storage

ORPHANED_S = 6 * 3600.0
"""Objects younger than this may belong to something that is just being written."""


class Housekeeping:
    def __init__(self, storage: Storage, files: ModelFiles, clock: Callable[[], float]) -> None:
        self._storage = storage
        self._files = files
        self._clock = clock

    async def run(self) -> None:
        await self.end_uploads()
        await self.forget_tokens()
        await self.drop_orphans()

    async def end_uploads(self) -> None:
        """Uploads past their time, unless one is just being checked."""
        now_ms = int(self._clock() * 1000)
        async with self._storage.writing(quietly=True) as tx:
            ended = [
                upload.upload_id
                for upload in await tx.uploads.all()
                if upload.expires_ms <= now_ms and upload.claimed_until_ms <= now_ms
            ]
            for upload_id in ended:
                await tx.uploads.delete(upload_id)
        for upload_id in ended:
            await self._files.delete_folder(f"{PARTS}/{upload_id}")

    async def forget_tokens(self) -> None:
        """Revocations of tokens that have ended anyway."""
        async with self._storage.writing(quietly=True) as tx:
            await tx.signing.forget_tokens(int(self._clock() * 1000))

    async def drop_orphans(self) -> None:
        """What a manager left behind that ended in the middle of something."""
        before_ms = int((self._clock() - ORPHANED_S) * 1000)
        async with self._storage.reading() as tx:
            known = {
                MODELS: await tx.models.folders(),
                PARTS: frozenset(upload.upload_id for upload in await tx.uploads.all()),
            }
        for kind, referred in known.items():
            for folder, written_ms in (await self._files.folders(kind)).items():
                if folder not in referred and written_ms < before_ms:
                    await self._files.delete_folder(f"{kind}/{folder}")
