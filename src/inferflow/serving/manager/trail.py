"""Who changed what, for those who may know: a key that is for some models sees what happened to
these, and nothing of keys, workers and other models."""

from __future__ import annotations

from collections.abc import Sequence

from inferflow.access import KeyCard, Permission
from inferflow.serving.manager.storage import Storage, Transaction
from inferflow.serving.manager.storage.records import AuditEntry

USUAL = 100
MOST = 10_000


class Trail:
    def __init__(self, storage: Storage) -> None:
        self._storage = storage

    async def latest(
        self, by: KeyCard, limit: int = 0, *, model: str = "", key_id: str = ""
    ) -> Sequence[AuditEntry]:
        """Newest first; about one model and made by one key, where they are named."""
        by.require(Permission.ADMIN, model or None)
        async with self._storage.reading() as tx:
            models = (model,) if model else await _seen(tx, by)
            return await tx.audit.latest(min(limit or USUAL, MOST), by=key_id, models=models)


async def _seen(tx: Transaction, by: KeyCard) -> list[str] | None:
    """Models whose entries are shown; None for every entry there is."""
    if not by.models.patterns:
        return None
    return [name for name in await tx.audit.models() if by.models.allow(name)]
