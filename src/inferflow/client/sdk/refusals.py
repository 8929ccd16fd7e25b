"""What a status means to somebody who asks a fleet: what to do next, and what to say at the end."""

from __future__ import annotations

import enum
from typing import Any

from grpc import StatusCode

from inferflow.client.failures import AWAY, Refusal, error_of
from inferflow.errors import InferflowError, ModelFailed
from inferflow.rpc.headers import RETRY_AFTER

_BROKE_OFF = "Internal error from Core"
"""What gRPC says when a call ended while it wrote to it, before it has seen why."""


class Next(enum.Enum):
    ANOTHER = "another worker, at once: this one is away"
    WITH_ROOM = "another worker, if repeating is in order: this one is full"
    LATER = "all of them again, a little later: the manager knows the model and the worker does not"
    TOKEN = "the same with a new token"
    DOUBTFUL = "another worker, at once: this one refuses a token that a manager has just given"
    LATE = "nothing: the time is up"
    STOP = "nothing: it would fail again"


def next_after(refused: Any) -> Next:
    """`refused` is how a call to a worker ended."""
    code = _code_of(refused)
    if code in AWAY:
        return Next.ANOTHER
    if code is StatusCode.RESOURCE_EXHAUSTED and RETRY_AFTER in trailing(refused):
        return Next.WITH_ROOM
    return _BY_CODE.get(code, Next.STOP)


_BY_CODE = {
    StatusCode.NOT_FOUND: Next.LATER,
    StatusCode.UNAUTHENTICATED: Next.TOKEN,
    StatusCode.DEADLINE_EXCEEDED: Next.LATE,
}

_TOLD = (*AWAY, *_BY_CODE, StatusCode.INVALID_ARGUMENT, StatusCode.PERMISSION_DENIED)


def error_from(
    refused: Any, model: str, addresses: str, *, budget_ms: float, attempts: int
) -> InferflowError:
    """The error a caller sees."""
    code, details = _code_of(refused), refused.details() or ""
    beside = trailing(refused)
    if code not in _TOLD and not (code is StatusCode.RESOURCE_EXHAUSTED and RETRY_AFTER in beside):
        return ModelFailed(model, f"{addresses} answered {code.name}: {details}")
    return error_of(
        Refusal(code, details, beside, model, addresses, budget_ms, attempts, what="model")
    )


def _code_of(refused: Any) -> StatusCode:
    code: StatusCode = refused.code()
    if code is StatusCode.INTERNAL and refused.details() == _BROKE_OFF:
        return StatusCode.UNAVAILABLE
    return code


def trailing(refused: Any) -> dict[str, str | bytes]:
    return dict(refused.trailing_metadata() or ())
