"""Models, their versions, where these stand and how they got there."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sqlalchemy import ColumnElement, Row, delete, func, insert, select, true, update
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from inferflow.errors import RegistryConflict
from inferflow.serving.manager.storage.records import (
    FileInfo,
    Model,
    Stage,
    StageChange,
    Tensor,
    Version,
)
from inferflow.serving.manager.storage.sql import tables as t

_V = t.versions.c


class SqlModels:
    def __init__(self, connection: AsyncConnection) -> None:
        self._do = connection.execute
        self._nested = connection.begin_nested

    async def last_number(self, model: str) -> int:
        query = select(t.models.c.last_number).where(t.models.c.name == model)
        return (await self._do(query)).scalar_one_or_none() or 0

    async def get(self, model: str) -> Model | None:
        found = await self._models(_V.model == model)
        return found[0] if found else None

    async def all(self) -> tuple[Model, ...]:
        return await self._models(true())

    async def in_stage(self, stage: Stage) -> tuple[Version, ...]:
        rows = await self._do(select(t.versions).where(_V.stage == stage).order_by(_V.model))
        return tuple(_version(row, ()) for row in rows)

    async def add_version(self, version: Version) -> None:
        try:
            async with self._nested():
                await self._reach(version.model, version.number)
                await self._do(insert(t.versions).values(_as_row(version)))
        except IntegrityError as taken:
            raise RegistryConflict(
                f"model {version.model!r} already has a version {version.number}, "
                f"or another in stage {version.stage.value!r}"
            ) from taken
        for change in version.history:
            await self._note(version.model, version.number, change)

    async def move(self, model: str, number: int, change: StageChange) -> None:
        await self._do(
            update(t.versions).where(*_is(model, number)).values(stage=change.to_stage.value)
        )
        await self._note(model, number, change)

    async def set_problem(self, model: str, number: int, problem: str) -> None:
        await self._do(update(t.versions).where(*_is(model, number)).values(problem=problem))

    async def set_traffic(self, model: str, traffic: Mapping[int, float]) -> None:
        await self._do(delete(t.traffic).where(t.traffic.c.model == model))
        rows = [
            {"model": model, "number": number, "percent": percent}
            for number, percent in traffic.items()
        ]
        if rows:
            await self._do(insert(t.traffic), rows)

    async def delete_version(self, model: str, number: int) -> None:
        await self._do(delete(t.versions).where(*_is(model, number)))

    async def folders(self) -> frozenset[str]:
        return frozenset((await self._do(select(_V.folder))).scalars())

    async def bytes_of(self, key_id: str) -> int:
        query = select(func.coalesce(func.sum(_V.size), 0)).where(_V.created_by == key_id)
        return int((await self._do(query)).scalar_one())

    async def _models(self, which: ColumnElement[bool]) -> tuple[Model, ...]:
        rows = (await self._do(select(t.versions).where(which).order_by(_V.model, _V.number))).all()
        changed = t.stage_changes
        names = select(_V.model).where(which)
        histories: dict[tuple[str, int], list[StageChange]] = defaultdict(list)
        query = select(changed).where(changed.c.model.in_(names)).order_by(changed.c.id)
        for row in await self._do(query):
            histories[row.model, row.number].append(_change(row))
        weights: dict[str, dict[int, float]] = defaultdict(dict)
        for row in await self._do(select(t.traffic).where(t.traffic.c.model.in_(names))):
            weights[row.model][row.number] = row.percent
        versions: dict[str, list[Version]] = defaultdict(list)
        for row in rows:
            versions[row.model].append(_version(row, histories[row.model, row.number]))
        return tuple(Model(name, tuple(vs), weights[name]) for name, vs in versions.items())

    async def _reach(self, model: str, number: int) -> None:
        """Let the model exist and remember the highest number it ever had."""
        last = await self._do(select(t.models.c.last_number).where(t.models.c.name == model))
        known = last.scalar_one_or_none()
        if known is None:
            await self._do(insert(t.models).values(name=model, last_number=number))
        elif number > known:
            which = t.models.c.name == model
            await self._do(update(t.models).where(which).values(last_number=number))

    async def _note(self, model: str, number: int, change: StageChange) -> None:
        await self._do(
            insert(t.stage_changes).values(
                model=model,
                number=number,
                from_stage=change.from_stage.value if change.from_stage else None,
                to_stage=change.to_stage.value,
                at_ms=change.at_ms,
                by=change.by,
                reason=change.reason,
            )
        )


def _is(model: str, number: int) -> tuple[ColumnElement[bool], ColumnElement[bool]]:
    return _V.model == model, _V.number == number


def _as_row(version: Version) -> dict[str, Any]:
    return {
        "model": version.model,
        "number": version.number,
        "stage": version.stage.value,
        "folder": version.folder,
        "digest": version.digest,
        "files": [asdict(file) for file in version.files],
        "size": version.size,
        "inputs": [asdict(tensor) for tensor in version.inputs],
        "outputs": [asdict(tensor) for tensor in version.outputs],
        "options": dict(version.options),
        "description": version.description,
        "note": version.note,
        "problem": version.problem,
        "created_ms": version.created_ms,
        "created_by": version.created_by,
    }


def _version(row: Row[Any], history: Sequence[StageChange]) -> Version:
    return Version(
        model=row.model,
        number=row.number,
        stage=Stage(row.stage),
        folder=row.folder,
        digest=row.digest,
        files=tuple(FileInfo(**file) for file in row.files),
        inputs=_tensors(row.inputs),
        outputs=_tensors(row.outputs),
        created_ms=row.created_ms,
        created_by=row.created_by,
        options=row.options,
        description=row.description,
        note=row.note,
        problem=row.problem,
        history=tuple(history),
    )


def _tensors(kept: Sequence[Mapping[str, Any]]) -> tuple[Tensor, ...]:
    return tuple(Tensor(side["name"], side["datatype"], tuple(side["shape"])) for side in kept)


def _change(row: Row[Any]) -> StageChange:
    before = Stage(row.from_stage) if row.from_stage else None
    return StageChange(before, Stage(row.to_stage), row.at_ms, row.by, row.reason)
