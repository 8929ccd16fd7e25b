"""What a manager's status means here. Errors say what the manager said."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from grpc import StatusCode

from inferflow.errors import (
    DeadlinePassed,
    InferflowError,
    InvalidInput,
    NotFound,
    Overloaded,
    PermissionDenied,
    RegistryConflict,
    RemoteFailed,
    Unauthenticated,
    Unreachable,
)
from inferflow.rpc.headers import RETRY_AFTER

Trailing = Mapping[str, str | bytes]

_UNSENT = ("failed to connect to all addresses", "connections to all backends failing")
"""What gRPC says when a call never left."""


def is_unsent(details: str) -> bool:
    return any(words in details for words in _UNSENT)


def error_of(
    code: StatusCode, details: str, trailing: Trailing, *, addresses: str, doing: str
) -> InferflowError:
    if code in (StatusCode.UNAVAILABLE, StatusCode.CANCELLED):
        return Unreachable(addresses, 1, details.rpartition("last error: ")[2])
    if code is StatusCode.DEADLINE_EXCEEDED:
        return _saying(DeadlinePassed(doing, 0), f"{doing} took too long: {details}")
    if code is StatusCode.NOT_FOUND:
        return _saying(NotFound("thing", doing), details)
    if code is StatusCode.RESOURCE_EXHAUSTED:
        wait_ms = str(trailing.get(RETRY_AFTER, ""))
        if wait_ms.isdecimal():
            return _saying(Overloaded(None, retry_after_ms=int(wait_ms)), details)
        return InvalidInput(details)
    make = _BY_STATUS.get(code)
    return make(details) if make else RemoteFailed(code.name, details)


def _saying(error: InferflowError, text: str) -> InferflowError:
    error.args = (text,)
    return error


_BY_STATUS: dict[StatusCode, Callable[[str], InferflowError]] = {
    StatusCode.INVALID_ARGUMENT: InvalidInput,
    StatusCode.FAILED_PRECONDITION: RegistryConflict,
    StatusCode.UNAUTHENTICATED: Unauthenticated,
    StatusCode.PERMISSION_DENIED: PermissionDenied,
}
