"""What stands behind a gateway in these tests: answers that are known, and calls that are seen."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inferflow._proto.pool import message_class
from inferflow.access import KeyBook, KeyCard, KeyHasher, ModelPatterns, Permission, mint_key
from inferflow.access.gate import BookKeys, Gate, OpenGate
from inferflow.api.gateway.app import make_app
from inferflow.api.gateway.ports import Beside, Bounds, Ports
from inferflow.dtypes import FP32, STRING
from inferflow.engine.request import ScoreRequest
from inferflow.errors import NotFound
from inferflow.scores import ScoreColumn, Scores, Table

with warnings.catch_warnings():  # it would rather have another client, which few have yet
    warnings.simplefilter("ignore")
    from starlette.testclient import TestClient
    from starlette.testclient import WebSocketDenialResponse as WebSocketDenialResponse

HERE = "http://127.0.0.1:8080"
WS = "ws://127.0.0.1:8080"
NOW_S = 1_700_000_000.0

Metadata = message_class("inference.ModelMetadataResponse")
InferRequest = message_class("inference.ModelInferRequest")
InferResponse = message_class("inference.ModelInferResponse")


def scores_of(request: ScoreRequest, **columns: list[float]) -> Scores:
    """Each target's place in the request, unless columns are given."""
    ids = [str(each) for each in request.entities["product"]]
    given = columns or {"rank:score": [float(at) for at in range(len(ids))]}
    made = {
        name: ScoreColumn(name, FP32, np.array(values, np.float32))
        for name, values in given.items()
    }
    title = np.array([f"product {each}" for each in ids], dtype=object)
    table = Table({"title": ScoreColumn("title", STRING, title), **made}, [""] * len(ids))
    return Scores(request.config_id, ids, table, config_version="v1")


@dataclass
class KnownScoring:
    """Answers with `answer`, and keeps what was asked."""

    answer: Callable[[ScoreRequest], Scores] = scores_of
    asked: list[tuple[ScoreRequest, Beside]] = field(default_factory=list)
    ready: bool = True

    async def score(self, request: ScoreRequest, beside: Beside) -> Scores:
        self.asked.append((request, beside))
        return self.answer(request)

    async def is_ready(self) -> bool:
        return self.ready


@dataclass
class EchoModels:
    """Gives every input back under its own name."""

    asked: list[Any] = field(default_factory=list)
    shape: tuple[int, ...] = (-1, 2)
    datatype: str = "FP32"

    async def infer(self, model: str, version: str, body: bytes, beside: Beside) -> bytes:
        request = InferRequest.FromString(body)
        if model != "echo":
            raise NotFound("model", model)
        self.asked.append((request, version, beside))
        answer = InferResponse(model_name=model, model_version=version or "1", id=request.id)
        for tensor, raw in zip(request.inputs, request.raw_input_contents, strict=True):
            if not request.outputs or tensor.name in [each.name for each in request.outputs]:
                answer.outputs.add(name=tensor.name, datatype=tensor.datatype, shape=tensor.shape)
                answer.raw_output_contents.append(raw)
        written: bytes = answer.SerializeToString()
        return written

    async def ask(self, method: str, request: Any, beside: Beside) -> Any:
        self.asked.append((method, request, beside))
        answer = message_class(f"inference.{method}Response")()
        if method == "ModelMetadata":
            answer.name = request.name
            answer.inputs.add(name="x", datatype=self.datatype, shape=self.shape)
        if method in ("ServerReady", "ModelReady"):
            answer.ready = getattr(request, "name", "echo") == "echo"
        return answer


@dataclass
class Keys:
    """API keys, and a gate that knows them."""

    gate: Gate
    texts: dict[str, str]
    book: KeyBook

    def revoke(self) -> None:
        """All of them."""
        self.book.replace(())

    def __getitem__(self, name: str) -> dict[str, str]:
        """The headers of whoever has the key of this name."""
        return {"authorization": f"Bearer {self.texts[name]}"}


def keys(models: tuple[str, ...] = (), /, **permissions: str) -> Keys:
    """A key per name, each with permissions, with spaces between; all for these models."""
    hasher = KeyHasher(bytes(32))
    stored, texts = [], {}
    for number, (name, may) in enumerate(permissions.items()):
        new = mint_key(lambda size, number=number: bytes([number + 1]) * size)
        allowed = frozenset(map(Permission, may.split()))
        card = KeyCard(new.key_id, name, allowed, ModelPatterns(models), created_ms=0)
        stored.append(hasher.stored(card, new))
        texts[name] = new.text
    book = KeyBook(hasher, stored)
    return Keys(Gate([BookKeys(book, lambda: NOW_S)], lambda: 0.0), texts, book)


@contextmanager
def asking(
    *, gate: Gate | OpenGate | None = None, bounds: Bounds | None = None, **ports: Any
) -> Iterator[TestClient]:
    """A client of a gateway in this process."""
    made = Ports(gate or OpenGate(), bounds=bounds or Bounds(), **ports)
    with TestClient(make_app(made), base_url=HERE) as client:
        yield client
