"""Models as a service: who may see them, where their versions stand, and their files.

Every change is one transaction that looks, decides by `stages`, writes, and notes who did it.
"""

from __future__ import annotations

import difflib
from collections.abc import AsyncIterator, Callable, Mapping

from inferflow.access import KeyCard, Permission
from inferflow.errors import NotFound
from inferflow.serving.manager.files import MODELS, ModelFiles, file_name
from inferflow.serving.manager.live import LiveRegistry
from inferflow.serving.manager.names import check_text
from inferflow.serving.manager.stages import (
    check_deletable,
    check_traffic,
    choices,
    moves,
    version_of,
)
from inferflow.serving.manager.storage import Storage, Transaction
from inferflow.serving.manager.storage.records import (
    AuditEntry,
    Model,
    Stage,
    StageChange,
    Version,
)

LONGEST_REASON = 1000


class Registry:
    def __init__(
        self,
        storage: Storage,
        files: ModelFiles,
        live: LiveRegistry,
        clock: Callable[[], float],
    ) -> None:
        """`clock` gives seconds since the epoch."""
        self._storage = storage
        self._files = files
        self._live = live
        self._clock = clock

    # --- looking, in memory -----------------------------------------------------------------

    def models(self, by: KeyCard) -> tuple[Model, ...]:
        """Every model a key is for, by name."""
        known = self._live.snapshot.models.values()
        return tuple(model for model in known if by.models.allow(model.name))

    def model(self, by: KeyCard, name: str) -> Model:
        by.require_model(name)
        known = self._live.snapshot.models
        if name not in known:
            seen = [other for other in known if by.models.allow(other)]
            nearest = difflib.get_close_matches(name, seen, n=1)
            raise NotFound("model", name, nearest=nearest[0] if nearest else "")
        return known[name]

    def choices(
        self, by: KeyCard, name: str, *, number: int | None = None, stage: Stage | None = None
    ) -> dict[int, float]:
        """Versions a caller may be sent to, with percentages. Raises NotFound."""
        by.require(Permission.INFERENCE, name)
        return choices(self.model(by, name), number=number, stage=stage)

    async def read_file(
        self, by: KeyCard, name: str, number: int, path: str, *, offset: int = 0
    ) -> AsyncIterator[bytes]:
        """One file of a version, from an offset on. For workers."""
        by.require(Permission.WORKER, name)
        version = version_of(self.model(by, name), number)
        place = next((i for i, file in enumerate(version.files) if file.path == path), None)
        if place is None:
            raise NotFound("file", f"{name}@{number}/{path}")
        async for piece in self._files.read(file_name(version.folder, place), offset=offset):
            yield piece

    # --- changing -----------------------------------------------------------------------------

    async def promote(
        self,
        by: KeyCard,
        name: str,
        number: int,
        to: Stage,
        *,
        expected: Stage | None = None,
        reason: str = "",
    ) -> Version:
        """Give a version a stage. Asking for the one it has changes nothing."""
        by.require(Permission.ADMIN, name)
        check_text("reason", reason, longest=LONGEST_REASON)
        async with self._storage.writing() as tx:
            model = await _found(tx, name)
            await move(
                tx, by, model, number, to, expected=expected, reason=reason, at_ms=self._now_ms()
            )
            changed = version_of(await _found(tx, name), number)
        await self._live.refresh()
        return changed

    async def set_traffic(self, by: KeyCard, name: str, traffic: Mapping[int, float]) -> Model:
        """Split production traffic by percentages; nothing at all ends the split."""
        by.require(Permission.ADMIN, name)
        async with self._storage.writing() as tx:
            check_traffic(await _found(tx, name), traffic)
            await tx.models.set_traffic(name, traffic)
            shares = {str(number): percent for number, percent in traffic.items()}
            await tx.audit.add(
                AuditEntry(self._now_ms(), by.key_id, "traffic set", name, shares, name)
            )
            changed = await _found(tx, name)
        await self._live.refresh()
        return changed

    async def delete_version(self, by: KeyCard, name: str, number: int) -> None:
        """Forget a version and its files. Its number is not used again."""
        by.require(Permission.ADMIN, name)
        async with self._storage.writing() as tx:
            version = check_deletable(await _found(tx, name), number)
            await tx.models.delete_version(name, number)
            subject, detail = f"{name}@{number}", {"digest": version.digest}
            await tx.audit.add(
                AuditEntry(self._now_ms(), by.key_id, "version deleted", subject, detail, name)
            )
        await self._live.refresh()
        await self._files.delete_folder(f"{MODELS}/{version.folder}")

    async def report_problem(self, by: KeyCard, name: str, number: int, problem: str) -> None:
        """A worker found that a version cannot be served, such as one whose bytes changed.

        Nothing moves by itself: a version in production stays there, with its problem shown.
        """
        by.require(Permission.WORKER, name)
        check_text("problem", problem, longest=LONGEST_REASON)
        async with self._storage.writing() as tx:
            if version_of(await _found(tx, name), number).problem == problem:
                return
            await tx.models.set_problem(name, number, problem)
            subject = f"{name}@{number}"
            what = "problem reported" if problem else "problem withdrawn"
            detail = {"problem": problem}
            await tx.audit.add(AuditEntry(self._now_ms(), by.key_id, what, subject, detail, name))
        await self._live.refresh()

    def _now_ms(self) -> int:
        return int(self._clock() * 1000)


async def move(
    tx: Transaction,
    by: KeyCard,
    model: Model,
    number: int,
    to: Stage,
    *,
    expected: Stage | None = None,
    reason: str = "",
    at_ms: int,
) -> None:
    """Carry out what `moves` decides, and note it."""
    planned = moves(model, number, to, expected=expected, reason=reason)
    if planned and to is Stage.PRODUCTION:
        await tx.models.set_traffic(model.name, {})
    for step in planned:
        change = StageChange(step.from_stage, step.to_stage, at_ms, by.key_id, step.reason)
        await tx.models.move(model.name, step.number, change)
        detail = {"from": step.from_stage.value, "to": step.to_stage.value, "reason": step.reason}
        subject = f"{model.name}@{step.number}"
        await tx.audit.add(
            AuditEntry(at_ms, by.key_id, "stage changed", subject, detail, model.name)
        )


async def _found(tx: Transaction, name: str) -> Model:
    model = await tx.models.get(name)
    if model is None:
        raise NotFound("model", name)
    return model
