"""Compute calls made without a server, and answers read by protobuf alone."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np

from inferflow._proto.pool import message_class
from inferflow.api.numerix.service import SERVICE, ComputeCall, ComputeService
from inferflow.compute import ExpressionBook
from inferflow.errors import NotFound
from inferflow.rpc.admission import Admission

from ..calling import CallContext

Request = message_class("numerix.NumerixRequestProto")
Response = message_class("numerix.NumerixResponseProto")


class Calls(list[ComputeCall]):
    """Keeps what it is told."""

    def call_ended(self, call: ComputeCall) -> None:
        self.append(call)


class Numerix:
    """A compute service with these expressions, called as a server would."""

    def __init__(self, expressions: Mapping[str, Any], *, at_once: int = 10) -> None:
        book = ExpressionBook(expressions)
        assert not book.problems
        self.calls = Calls()
        self.admission = Admission(at_once)

        def find(compute_id: str) -> Any:
            found = book.get(compute_id)
            if found is None:
                raise NotFound("expression", compute_id, nearest=book.nearest(compute_id))
            return found

        service = ComputeService(find, admission=self.admission, observer=self.calls)
        details = SimpleNamespace(method=f"/{SERVICE}/Compute", invocation_metadata=())
        handler: Any = service.handlers()[0].service(details)
        self._handler = handler.unary_unary

    def __call__(self, request: Any, metadata: Any = ()) -> Any:
        body = request if isinstance(request, bytes) else request.SerializeToString()
        return Response.FromString(asyncio.run(self._handler(body, CallContext(metadata))))


def text_request(
    rows: Sequence[Sequence[str]],
    schema: Sequence[str] = ("id", "a", "b"),
    compute_id: str = "1",
    **more: Any,
) -> Any:
    scores = [{"string_data": {"values": row}} for row in rows]
    data = {"schema": schema, "entity_scores": scores, "compute_id": compute_id, **more}
    return Request(entity_score_data=data)


def byte_request(
    rows: Sequence[Sequence[bytes]],
    schema: Sequence[str] = ("id", "a", "b"),
    compute_id: str = "1",
    **more: Any,
) -> Any:
    scores = [{"byte_data": {"values": row}} for row in rows]
    data = {"schema": schema, "entity_scores": scores, "compute_id": compute_id, **more}
    return Request(entity_score_data=data)


def f64(value: float) -> bytes:
    return np.float64(value).tobytes()


def f32(value: float) -> bytes:
    return np.float32(value).tobytes()


def texts(answer: Any) -> list[list[str]]:
    assert answer.WhichOneof("response") == "computation_score_data", answer
    return [
        list(row.string_data.values) for row in answer.computation_score_data.computation_scores
    ]


def values(answer: Any) -> list[list[bytes]]:
    assert answer.WhichOneof("response") == "computation_score_data", answer
    return [list(row.byte_data.values) for row in answer.computation_score_data.computation_scores]


def error(answer: Any) -> str:
    assert answer.WhichOneof("response") == "error", answer
    return str(answer.error.message)
