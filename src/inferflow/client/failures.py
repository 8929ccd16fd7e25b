"""The one table of what a status means here.

Errors are made from the status alone, never from a name that came over the wire. They say
what the server said.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeVar

from grpc import StatusCode

from inferflow.errors import (
    DeadlinePassed,
    InferflowError,
    InvalidRequest,
    NotFound,
    Overloaded,
    PermissionDenied,
    PlanRejected,
    RemoteFailed,
    Unauthenticated,
    Unreachable,
)
from inferflow.rpc.headers import RATE_LIMITED, RECORDING, RETRY_AFTER

E = TypeVar("E", bound=InferflowError)

_LOCAL_TIMEOUT = "Deadline Exceeded"
"""What gRPC says, among other words, when no server did."""


AWAY = (StatusCode.UNAVAILABLE, StatusCode.CANCELLED)
"""The server is not there, or is leaving and ended the call itself. Another may answer it."""

_NO_PLACE = "Concurrent RPC limit exceeded!"
"""What gRPC says, without a hint, when a server's last limit is reached."""
_RETRY_AFTER_MS = 100
"""Where nobody gave a hint."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """How a call ended that was not answered."""

    code: StatusCode
    details: str
    trailing: Mapping[str, str | bytes]
    config_id: str
    addresses: str
    budget_ms: float
    attempts: int
    what: str = "model config"
    """What it was that `config_id` names."""


def error_of(refusal: Refusal) -> InferflowError:
    make = _BY_STATUS.get(refusal.code)
    error = make(refusal) if make else RemoteFailed(refusal.code.name, refusal.details)
    error.recording = str(refusal.trailing.get(RECORDING, ""))
    return error


def no_place_ms(refusal: Refusal) -> int | None:
    """When to come back to a server that had no place for a call; None when that is not why."""
    if refusal.code is StatusCode.CANCELLED:
        # More calls wait than gRPC holds for a server: it cuts off some before they are seen.
        return _RETRY_AFTER_MS
    if refusal.code is not StatusCode.RESOURCE_EXHAUSTED or RATE_LIMITED in refusal.trailing:
        return None
    return _RETRY_AFTER_MS if refusal.details == _NO_PLACE else _hint_ms(refusal.trailing)


def _hint_ms(trailing: Mapping[str, str | bytes]) -> int | None:
    wait_ms = str(trailing.get(RETRY_AFTER, ""))
    return int(wait_ms) if wait_ms.isdecimal() else None


def _invalid(refusal: Refusal) -> InferflowError:
    field, colon, what = refusal.details.partition(": ")
    if not colon or " " in field:
        field, what = "request", refusal.details
    return _saying(InvalidRequest(field, what), refusal.details)


def _absent(refusal: Refusal) -> InferflowError:
    return _saying(NotFound(refusal.what, refusal.config_id), refusal.details)


def _rejected(refusal: Refusal) -> InferflowError:
    return _saying(PlanRejected(refusal.config_id, ()), refusal.details)


def _denied(refusal: Refusal) -> InferflowError:
    return PermissionDenied(refusal.details)


def _unknown(refusal: Refusal) -> InferflowError:
    return Unauthenticated(refusal.details)


def _late(refusal: Refusal) -> InferflowError:
    late = DeadlinePassed(f"{refusal.config_id!r} at {refusal.addresses}", refusal.budget_ms)
    return late if _LOCAL_TIMEOUT in refusal.details else _saying(late, refusal.details)


def _exhausted(refusal: Refusal) -> InferflowError:
    """Too many calls come with a hint when to come back; too large a message does not."""
    if refusal.details == _NO_PLACE:
        return Overloaded(None, retry_after_ms=_RETRY_AFTER_MS)
    wait_ms = _hint_ms(refusal.trailing)
    if wait_ms is None:
        return InvalidRequest("request", refusal.details)
    return _saying(Overloaded(None, retry_after_ms=wait_ms), refusal.details)


def _unreachable(refusal: Refusal) -> InferflowError:
    why = refusal.details.rpartition("last error: ")[2]
    return Unreachable(refusal.addresses, refusal.attempts, why)


def _saying(error: E, text: str) -> E:
    """The error with the server's own words, for it knew more than we do."""
    if text:
        error.args = (text,)
    return error


_BY_STATUS: dict[StatusCode, Callable[[Refusal], InferflowError]] = {
    StatusCode.INVALID_ARGUMENT: _invalid,
    StatusCode.NOT_FOUND: _absent,
    StatusCode.FAILED_PRECONDITION: _rejected,
    StatusCode.UNAUTHENTICATED: _unknown,
    StatusCode.PERMISSION_DENIED: _denied,
    StatusCode.DEADLINE_EXCEEDED: _late,
    StatusCode.RESOURCE_EXHAUSTED: _exhausted,
    **dict.fromkeys(AWAY, _unreachable),
}
