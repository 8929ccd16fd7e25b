"""For administrators: models, workers, keys, and who changed what."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import grpc

from inferflow.access import KeyCard, Permission
from inferflow.api.manager import reading, writing
from inferflow.api.manager.calling import Calls, Message
from inferflow.api.manager.rules import REGISTRY
from inferflow.errors import InvalidInput, Unauthenticated
from inferflow.serving.manager.receiving import Piece, receive
from inferflow.serving.manager.services import Services
from inferflow.serving.manager.stages import parse_stage
from inferflow.serving.manager.storage.records import Stage, Usage


class RegistryService:
    def __init__(self, services: Services) -> None:
        self._services = services

    def handlers(self, calls: Calls) -> grpc.GenericRpcHandler:
        answers: dict[str, tuple[str, Any]] = {
            "BeginUpload": ("BeginUploadRequest", self._begin),
            "GetUpload": ("GetUploadRequest", self._status),
            "FinishUpload": ("FinishUploadRequest", self._finish),
            "AbortUpload": ("GetUploadRequest", self._abort),
            "ListModels": ("ListModelsRequest", self._list_models),
            "GetModel": ("GetModelRequest", self._get_model),
            "Promote": ("PromoteRequest", self._promote),
            "SetTraffic": ("SetTrafficRequest", self._set_traffic),
            "DeleteVersion": ("DeleteVersionRequest", self._delete_version),
            "ListWorkers": ("ListWorkersRequest", self._list_workers),
            "DrainWorker": ("DrainRequest", self._drain_worker),
            "CreateKey": ("CreateKeyRequest", self._create_key),
            "ListKeys": ("ListKeysRequest", self._list_keys),
            "RevokeKey": ("RevokeKeyRequest", self._revoke_key),
            "CheckKey": ("CheckKeyRequest", self._check_key),
            "ListAudit": ("ListAuditRequest", self._list_audit),
        }
        methods = {
            name: calls.unary(f"/{REGISTRY}/{name}", writing.declared(request), answer)
            for name, (request, answer) in answers.items()
        }
        methods["UploadChunks"] = calls.gathers(
            f"/{REGISTRY}/UploadChunks", writing.declared("UploadChunk"), self._receive
        )
        return grpc.method_handlers_generic_handler(REGISTRY, methods)

    # --- uploads ----------------------------------------------------------------------------

    async def _begin(self, by: KeyCard, asked: Message) -> Message:
        return writing.upload(await self._services.uploads.begin(by, reading.upload_order(asked)))

    async def _status(self, by: KeyCard, asked: Message) -> Message:
        return writing.upload(await self._services.uploads.status(by, asked.upload_id))

    async def _receive(self, by: KeyCard, chunks: AsyncIterator[Message]) -> Message:
        try:
            first = await anext(chunks)
        except StopAsyncIteration:
            raise InvalidInput("upload_id: the first piece must say which upload") from None
        pieces = _pieces(first, chunks)
        return writing.upload(await receive(self._services.uploads, by, first.upload_id, pieces))

    async def _finish(self, by: KeyCard, asked: Message) -> Message:
        stage = parse_stage(asked.stage, default=Stage.DEV)
        return writing.version(
            await self._services.publishing.finish(by, asked.upload_id, stage), {}
        )

    async def _abort(self, by: KeyCard, asked: Message) -> Message:
        await self._services.uploads.abort(by, asked.upload_id)
        return writing.declared("AbortUploadResponse")()

    # --- models -----------------------------------------------------------------------------

    async def _list_models(self, by: KeyCard, _: Message) -> Message:
        held = self._held()
        models = [writing.model(each, held) for each in self._services.registry.models(by)]
        return writing.declared("ListModelsResponse")(models=models)

    async def _get_model(self, by: KeyCard, asked: Message) -> Message:
        return writing.model(self._services.registry.model(by, asked.name), self._held())

    async def _promote(self, by: KeyCard, asked: Message) -> Message:
        if not asked.stage:
            raise InvalidInput("stage: say which")
        changed = await self._services.registry.promote(
            by,
            asked.model,
            reading.named_version(asked.version),
            parse_stage(asked.stage, default=Stage.DEV),
            expected=reading.optional_stage(asked.expected_stage),
            reason=asked.reason,
        )
        return writing.version(changed, self._held())

    async def _set_traffic(self, by: KeyCard, asked: Message) -> Message:
        traffic = {
            reading.named_version(version): percent for version, percent in asked.traffic.items()
        }
        changed = await self._services.registry.set_traffic(by, asked.model, traffic)
        return writing.model(changed, self._held())

    async def _delete_version(self, by: KeyCard, asked: Message) -> Message:
        number = reading.named_version(asked.version)
        await self._services.registry.delete_version(by, asked.model, number)
        return writing.declared("DeleteVersionResponse")()

    def _held(self) -> writing.Holders:
        return writing.holders(self._services.roster.fleet)

    # --- workers, keys, audit -----------------------------------------------------------------

    async def _list_workers(self, by: KeyCard, _: Message) -> Message:
        by.require(Permission.ADMIN)
        workers = [writing.worker(each) for each in self._services.roster.known()]
        return writing.declared("ListWorkersResponse")(workers=workers)

    async def _drain_worker(self, by: KeyCard, asked: Message) -> Message:
        await self._services.roster.drain(by, asked.worker_id)
        return writing.declared("DrainResponse")()

    async def _create_key(self, by: KeyCard, asked: Message) -> Message:
        created = await self._services.keys.create(by, reading.key_order(asked))
        return writing.declared("CreateKeyResponse")(
            key=writing.key(created.card, Usage()), secret=created.text
        )

    async def _list_keys(self, by: KeyCard, _: Message) -> Message:
        listed = [writing.key(card, usage) for card, usage in await self._services.keys.list(by)]
        return writing.declared("ListKeysResponse")(keys=listed)

    async def _revoke_key(self, by: KeyCard, asked: Message) -> Message:
        return writing.key(await self._services.keys.revoke(by, asked.key_id), Usage())

    async def _check_key(self, by: KeyCard, asked: Message) -> Message:
        """A wrong key is an answer and no refusal: it is not the caller's own."""
        by.require(Permission.WORKER)
        answer = writing.declared("CheckKeyResponse")()
        with suppress(Unauthenticated):
            card = self._services.keys.authenticate(asked.key)
            answer.key.CopyFrom(writing.key(card, Usage()))
        return answer

    async def _list_audit(self, by: KeyCard, asked: Message) -> Message:
        found = await self._services.trail.latest(
            by, asked.limit, model=asked.model, key_id=asked.by
        )
        return writing.audit(found)


async def _pieces(first: Message, rest: AsyncIterator[Message]) -> AsyncIterator[Piece]:
    yield Piece(first.data, first.path, first.offset)
    async for chunk in rest:
        if chunk.upload_id not in ("", first.upload_id):
            raise InvalidInput("upload_id: a stream is for one upload")
        yield Piece(chunk.data, chunk.path, chunk.offset)
