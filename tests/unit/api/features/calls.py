"""A feature service on a loopback port, and its callers as any gRPC program would be one."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import grpc

from inferflow._proto.pool import message_class
from inferflow.access import Gate, OpenGate
from inferflow.api.features.service import SERVICES, FeatureService
from inferflow.api.guard import guarded
from inferflow.featurestore import FeatureStore
from inferflow.rpc.admission import Admission
from inferflow.rpc.server import start_server

Query = message_class("retrieve.Query")
Keys = message_class("retrieve.Keys")
Result = message_class("retrieve.Result")
DecodedResult = message_class("retrieve.DecodedResult")
Persist = message_class("persist.Query")
Persisted = message_class("persist.Result")

Headers = Sequence[tuple[str, str]]


class Caller:
    def __init__(self, channel: grpc.aio.Channel) -> None:
        self._channel = channel

    async def retrieve(self, query: Any, headers: Headers = ()) -> Any:
        return await self._call("/retrieve.FeatureService/RetrieveFeatures", Result, query, headers)

    async def decoded(self, query: Any, headers: Headers = ()) -> Any:
        path = "/retrieve.FeatureService/RetrieveDecodedResult"
        return await self._call(path, DecodedResult, query, headers)

    async def persist(self, query: Any, headers: Headers = ()) -> Any:
        return await self._call(
            "/persist.FeatureService/PersistFeatures", Persisted, query, headers
        )

    async def _call(self, path: str, answer: Any, query: Any, headers: Headers) -> Any:
        body = query if isinstance(query, bytes) else query.SerializeToString()
        call = self._channel.unary_unary(path)
        return answer.FromString(await call(body, metadata=tuple(headers), timeout=10))


@asynccontextmanager
async def serving(
    store: FeatureStore, *, gate: Gate | None = None, **options: Any
) -> AsyncIterator[Caller]:
    options.setdefault("admission", Admission(10))
    service = FeatureService(lambda: store, **options)
    handlers = guarded(service.handlers(), gate or OpenGate())
    server = await start_server(handlers, services=SERVICES)
    async with grpc.aio.insecure_channel(f"127.0.0.1:{server.port}") as channel:
        try:
            yield Caller(channel)
        finally:
            await server.stop()


def called(store: FeatureStore, use: Callable[[Caller], Any], **options: Any) -> Any:
    """What `use` gives, with a service for the time it takes."""

    async def run() -> Any:
        async with serving(store, **options) as caller:
            return await use(caller)

    return asyncio.run(run())


def query(
    entity: str,
    groups: Sequence[tuple[str, Sequence[str]]],
    keys: Sequence[Sequence[str]],
    names: Sequence[str] = ("id",),
) -> Any:
    asked = Query(entity_label=entity, keys_schema=names)
    for label, features in groups:
        asked.feature_groups.add(label=label, feature_labels=features)
    for key in keys:
        asked.keys.add(cols=key)
    return asked


def writing(
    entity: str,
    groups: Sequence[tuple[str, Sequence[str]]],
    rows: Sequence[tuple[Sequence[str], Sequence[Mapping[str, Any]]]],
    names: Sequence[str] = ("id",),
) -> Any:
    """Rows are keys and, per group, values by list; a vector is a mapping of its own."""
    written = Persist(entity_label=entity, keys_schema=names)
    for label, features in groups:
        written.feature_group_schema.add(label=label, feature_labels=features)
    for key, values in rows:
        data = written.data.add(key_values=key)
        for lists in values:
            into = data.feature_values.add().values
            for name, items in lists.items():
                if name == "vector":
                    for item in items:
                        fill(into.vector.add().values, item)
                else:
                    getattr(into, name).extend(items)
    return written


def fill(values: Any, lists: Mapping[str, Sequence[Any]]) -> None:
    for name, items in lists.items():
        getattr(values, name).extend(items)
