"""Every path of the Open Inference Protocol's REST form."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import orjson
from fastapi import APIRouter, Path, Request, WebSocket
from starlette.responses import JSONResponse, Response

from inferflow._proto.pool import message_class
from inferflow.api.gateway.beside import beside
from inferflow.api.gateway.door import caller_of
from inferflow.api.gateway.failing import said_of
from inferflow.api.gateway.inflating import deflated
from inferflow.api.gateway.oip import telling
from inferflow.api.gateway.oip.answering import write_answer
from inferflow.api.gateway.oip.asking import Inference, bare_tensor, read_inference
from inferflow.api.gateway.oip.body import LENGTH, Split, split_body
from inferflow.api.gateway.ports import Beside, Models, Ports
from inferflow.api.gateway.score_documents import json_body
from inferflow.api.gateway.score_json import parsed
from inferflow.api.gateway.sockets import converse
from inferflow.client.manager.plain import plain
from inferflow.errors import InferflowError, InvalidRequest, NotFound

EXTENSION = "binary_tensor_data"

Version = Annotated[str, Path(pattern="^[0-9]+$", max_length=18)]
Message = Any


def oip_router(ports: Ports) -> APIRouter:
    router = APIRouter(tags=["open inference"])
    models = _Models(ports)
    _add_server_routes(router, models)
    _add_model_routes(router, models)
    _add_inference_routes(router, models)
    _add_repository_routes(router, models)
    return router


class _Models:
    """What stands behind the routes, asked in the protocol's own messages."""

    def __init__(self, ports: Ports) -> None:
        self.ports = ports

    def required(self) -> Models:
        if self.ports.models is None:
            raise NotFound("part of this gateway", "models")
        return self.ports.models

    async def ask(self, method: str, request: Request, **fields: Any) -> Message:
        message = message_class(f"inference.{method}Request")(**fields)
        about = beside(request, caller_of(request), self.ports.bounds)
        return await self.required().ask(method, message, about)

    async def infer(self, request: Request, model: str, version: str = "") -> Response:
        about = beside(request, caller_of(request), self.ports.bounds)
        split = split_body(await request.body(), request.headers.get(LENGTH))
        asked = await self._asked(split, model, version, about)
        answer = await self.required().infer(model, version, asked.body, about)
        joined = write_answer(answer, asked)
        body, encoding = deflated(joined.body, request.headers.get("accept-encoding", ""))
        headers = {**joined.headers, **({"content-encoding": encoding} if encoding else {})}
        return Response(body, media_type=joined.media_type, headers=headers)

    async def _asked(self, split: Split, model: str, version: str, about: Beside) -> Inference:
        if split.document is not None:
            return read_inference(split, model)
        question = message_class("inference.ModelMetadataRequest")(name=model, version=version)
        metadata = await self.required().ask("ModelMetadata", question, about)
        return bare_tensor(split, model, metadata)

    async def spoken(self, model: str, text: str, about: Beside) -> bytes:
        """One message of a stream: an answer, or an error in its place."""
        said: Any = None
        try:
            said = parsed(text)
            asked = read_inference(Split(said, memoryview(b"")), model)
            if asked.is_binary or any(asked.binary.values()):
                raise InvalidRequest("outputs", "binary outputs have no place in a text message")
            answer = await self.required().infer(model, "", asked.body, about)
            return write_answer(answer, asked).body
        except InferflowError as refused:
            told = {"error": said_of(refused)}
            if isinstance(said, dict) and isinstance(said.get("id"), str):
                told["id"] = said["id"]
            return orjson.dumps(told)


def _add_server_routes(router: APIRouter, models: _Models) -> None:
    @router.get("/v2", response_model=telling.ServerMetadata)
    async def server_metadata(request: Request) -> Any:
        """The server behind the gateway, and the extensions that can be used."""
        told = plain(await models.ask("ServerMetadata", request))
        told["extensions"] = [*told["extensions"], EXTENSION]
        return told

    @router.get("/v2/health/live", response_model=telling.Liveness)
    async def oip_live() -> Any:
        """That this gateway lives."""
        return {"live": True}

    @router.get("/v2/health/ready", response_model=telling.Readiness)
    async def oip_ready(request: Request) -> Any:
        """Whether models can be asked: 200, or 400."""
        ready = await _is(lambda: models.ask("ServerReady", request))
        return {"ready": True} if ready else JSONResponse({"ready": False}, 400)


async def _is(ask: Callable[[], Any]) -> bool:
    """A server that does not answer is not ready."""
    try:
        return bool((await ask()).ready)
    except InferflowError:
        return False


def _add_model_routes(router: APIRouter, models: _Models) -> None:
    @router.get("/v2/models/stats", response_model=telling.AllModelStats)
    async def all_statistics(request: Request) -> Any:
        """What every model has done."""
        return plain(await models.ask("ModelStatistics", request))

    async def metadata(request: Request, model: str, version: Version) -> Any:
        """What a model takes and gives."""
        return plain(await models.ask("ModelMetadata", request, name=model, version=version))

    async def ready(request: Request, model: str, version: Version) -> Any:
        """Whether a model can be asked: 200, or 400."""
        is_ready = await _is(lambda: models.ask("ModelReady", request, name=model, version=version))
        told = {"name": model, "ready": is_ready}
        return told if is_ready else JSONResponse(told, 400)

    async def config(request: Request, model: str, version: Version) -> Any:
        """How a model is served."""
        found = await models.ask("ModelConfig", request, name=model, version=version)
        return telling.config_document(found)

    async def statistics(request: Request, model: str, version: Version) -> Any:
        """What a model has done."""
        return plain(await models.ask("ModelStatistics", request, name=model, version=version))

    for path, endpoint, answer in (
        ("", metadata, telling.ModelMetadata),
        ("/ready", ready, telling.ModelReadiness),
        ("/config", config, telling.ModelConfig),
        ("/stats", statistics, telling.AllModelStats),
    ):
        _add_both(router, "GET", path, endpoint, answer)


def _add_inference_routes(router: APIRouter, models: _Models) -> None:
    async def infer(request: Request, model: str, version: Version) -> Any:
        """Run a model on tensors, in JSON or as bytes behind it."""
        return await models.infer(request, model, version)

    _add_both(
        router,
        "POST",
        "/infer",
        infer,
        telling.InferenceAnswer,
        json_body(telling.InferenceRequest, telling.INFERENCE_EXAMPLE),
    )

    @router.websocket("/v2/models/{model}/stream")
    async def infer_stream(websocket: WebSocket, model: str) -> None:
        await converse(
            websocket, lambda text, about: models.spoken(model, text, about), models.ports
        )


def _add_both(
    router: APIRouter,
    verb: str,
    path: str,
    endpoint: Callable[..., Any],
    answer: type[Any],
    described: dict[str, Any] | None = None,
) -> None:
    """A route for the version the server picks, and one for a version that is named."""
    for named, suffix in (("", ""), ("/versions/{version}", "_of_version")):
        router.add_api_route(
            f"/v2/models/{{model}}{named}{path}",
            endpoint if named else _without_version(endpoint),
            methods=[verb],
            response_model=answer,
            name=f"model_{endpoint.__name__}{suffix}",
            openapi_extra=described,
        )


def _without_version(endpoint: Callable[..., Any]) -> Callable[..., Any]:
    async def latest(request: Request, model: str) -> Any:
        return await endpoint(request, model, "")

    latest.__doc__ = endpoint.__doc__
    return latest


def _add_repository_routes(router: APIRouter, models: _Models) -> None:
    @router.post("/v2/repository/index", response_model=list[telling.IndexedModel])
    async def repository_index(request: Request) -> Any:
        """Every model there is, and how it stands. The body may be `{"ready": true}`."""
        asked = _document(await request.body())
        found = await models.ask("RepositoryIndex", request, ready=bool(asked.get("ready")))
        return plain(found)["models"]

    @router.post("/v2/repository/models/{model}/load", response_class=Response)
    async def repository_load(request: Request, model: str) -> Response:
        """Load a model, or look for its new versions."""
        asked = _document(await request.body())
        if asked.get("parameters"):
            raise InvalidRequest("parameters", "models are loaded from the repository as they are")
        await models.ask("RepositoryModelLoad", request, model_name=model)
        return Response()

    @router.post("/v2/repository/models/{model}/unload", response_class=Response)
    async def repository_unload(request: Request, model: str) -> Response:
        """Unload a model."""
        _document(await request.body())
        await models.ask("RepositoryModelUnload", request, model_name=model)
        return Response()


def _document(body: bytes) -> dict[str, Any]:
    found = parsed(body) if body.strip() else {}
    if not isinstance(found, dict):
        raise InvalidRequest("body", "an object is wanted")
    return found
