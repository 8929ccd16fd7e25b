"""A real `inferflow feature-store`, and calls to it."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import grpc

from inferflow._proto.pool import message_class

from . import role_process
from .role_process import Process

Query = message_class("retrieve.Query")
Result = message_class("retrieve.Result")
DecodedResult = message_class("retrieve.DecodedResult")
Persist = message_class("persist.Query")
Persisted = message_class("persist.Result")

Headers = Sequence[tuple[str, str]]


def launch(folder: Path, *arguments: str, **environment: str) -> subprocess.Popen[str]:
    return role_process.launch("feature-store", str(folder), *arguments, **environment)


def start(
    folder: Path, *arguments: str, port: int = 0, ready: str = "ready", **environment: str
) -> Process:
    """`ready` is how its third line begins."""
    ports = ("--port", str(port), "--http-port", "0")
    return Process.ready(launch(folder, *ports, *arguments, **environment), f"{ready}, .*")


def prices(process: Process, *products: str, headers: Headers = ()) -> list[str]:
    """The price of each product, as text."""
    query = Query(entity_label="product", keys_schema=["product_id"])
    query.feature_groups.add(label="attributes", feature_labels=["price"])
    for product in products:
        query.keys.add(cols=[product])
    path = "/retrieve.FeatureService/RetrieveDecodedResult"
    answer = DecodedResult.FromString(_call(process, path, query, headers))
    assert [row.keys[0] for row in answer.rows] == [*products]
    return [row.columns[0] for row in answer.rows]


def set_price(process: Process, product: str, price: float, headers: Headers = ()) -> str:
    query = Persist(entity_label="product", keys_schema=["product_id"])
    query.feature_group_schema.add(label="attributes", feature_labels=["price"])
    data = query.data.add(key_values=[product])
    data.feature_values.add().values.fp32_values.append(price)
    path = "/persist.FeatureService/PersistFeatures"
    message: str = Persisted.FromString(_call(process, path, query, headers)).message
    return message


def _call(process: Process, path: str, query: Any, headers: Headers) -> bytes:
    with grpc.insecure_channel(f"127.0.0.1:{process.port}") as channel:
        call = channel.unary_unary(path)
        answer: bytes = call(query.SerializeToString(), timeout=30, metadata=tuple(headers))
        return answer
