"""Uploads under way, and which parts of their files have arrived."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from sqlalchemy import ColumnElement, Row, delete, insert, select, true, update
from sqlalchemy.ext.asyncio import AsyncConnection

from inferflow.serving.manager.storage.records import Part, Upload, UploadFile
from inferflow.serving.manager.storage.sql import tables as t

_U, _F, _P = t.uploads.c, t.upload_files.c, t.upload_parts.c


class SqlUploads:
    def __init__(self, connection: AsyncConnection) -> None:
        self._do = connection.execute

    async def add(self, upload: Upload) -> None:
        await self._do(
            insert(t.uploads).values(
                upload_id=upload.upload_id,
                model=upload.model,
                number=upload.number,
                created_ms=upload.created_ms,
                expires_ms=upload.expires_ms,
                created_by=upload.created_by,
                options=dict(upload.options),
                description=upload.description,
                claimed_until_ms=upload.claimed_until_ms,
            )
        )
        rows = [
            {
                "upload_id": upload.upload_id,
                "path": file.path,
                "place": place,
                "size": file.size,
                "sha256": file.sha256,
                "received": file.received,
            }
            for place, file in enumerate(upload.files)
        ]
        await self._do(insert(t.upload_files), rows)

    async def get(self, upload_id: str) -> Upload | None:
        found = await self._uploads(_U.upload_id == upload_id)
        return found[0] if found else None

    async def all(self) -> tuple[Upload, ...]:
        return await self._uploads(true())

    async def add_part(self, upload_id: str, part: Part) -> None:
        await self._do(
            insert(t.upload_parts).values(
                upload_id=upload_id,
                path=part.path,
                offset=part.offset,
                size=part.size,
                object_name=part.object_name,
            )
        )
        await self._do(
            update(t.upload_files)
            .where(_F.upload_id == upload_id, _F.path == part.path)
            .values(received=part.offset + part.size)
        )

    async def parts(self, upload_id: str) -> tuple[Part, ...]:
        query = select(t.upload_parts).where(_P.upload_id == upload_id)
        rows = await self._do(query.order_by(_P.path, _P.offset))
        return tuple(Part(row.path, row.offset, row.size, row.object_name) for row in rows)

    async def extend(self, upload_id: str, expires_ms: int) -> None:
        which = _U.upload_id == upload_id
        await self._do(update(t.uploads).where(which).values(expires_ms=expires_ms))

    async def claim(self, upload_id: str, until_ms: int) -> None:
        which = _U.upload_id == upload_id
        await self._do(update(t.uploads).where(which).values(claimed_until_ms=until_ms))

    async def delete(self, upload_id: str) -> None:
        await self._do(delete(t.uploads).where(_U.upload_id == upload_id))

    async def _uploads(self, which: ColumnElement[bool]) -> tuple[Upload, ...]:
        files: dict[str, list[UploadFile]] = defaultdict(list)
        ids = select(_U.upload_id).where(which)
        query = select(t.upload_files).where(_F.upload_id.in_(ids)).order_by(_F.place)
        for row in await self._do(query):
            files[row.upload_id].append(UploadFile(row.path, row.size, row.sha256, row.received))
        ordered = select(t.uploads).where(which).order_by(_U.created_ms, _U.upload_id)
        return tuple(_upload(row, files[row.upload_id]) for row in await self._do(ordered))


def _upload(row: Row[Any], files: list[UploadFile]) -> Upload:
    return Upload(
        upload_id=row.upload_id,
        model=row.model,
        number=row.number,
        files=tuple(files),
        created_ms=row.created_ms,
        expires_ms=row.expires_ms,
        created_by=row.created_by,
        options=row.options,
        description=row.description,
        claimed_until_ms=row.claimed_until_ms,
    )
