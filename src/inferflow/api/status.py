"""The one table of what an error is called on the wire."""

from __future__ import annotations

from dataclasses import dataclass

from grpc import StatusCode

from inferflow.errors import (
    BodyTooLarge,
    BodyTooSlow,
    ConfigStoreBusy,
    Fault,
    GoldenFailed,
    InferflowError,
    MissingExtra,
    ModelUnavailable,
    PermissionDenied,
    PlanRejected,
    RegistryBusy,
    RegistryConflict,
    RemoteFailed,
    StoreUnreachable,
    Unauthenticated,
    Unreachable,
    VersionConflict,
)

LONGEST = 2000
"""Characters of an error's text that are sent: it travels in a header, which is limited."""


@dataclass(frozen=True, slots=True)
class Status:
    grpc: StatusCode
    http: int


BY_FAULT = {
    Fault.CALLER: Status(StatusCode.INVALID_ARGUMENT, 400),
    Fault.ABSENT: Status(StatusCode.NOT_FOUND, 404),
    Fault.BUSY: Status(StatusCode.RESOURCE_EXHAUSTED, 429),
    Fault.LATE: Status(StatusCode.DEADLINE_EXCEEDED, 504),
    Fault.OURS: Status(StatusCode.INTERNAL, 500),
}

CONFIG_REJECTED = Status(StatusCode.FAILED_PRECONDITION, 409)
"""The request may be fine; the config it names is not."""


BY_KIND: dict[type[InferflowError], Status] = {
    PlanRejected: CONFIG_REJECTED,
    Unauthenticated: Status(StatusCode.UNAUTHENTICATED, 401),
    PermissionDenied: Status(StatusCode.PERMISSION_DENIED, 403),
    RegistryConflict: Status(StatusCode.FAILED_PRECONDITION, 409),
    RegistryBusy: Status(StatusCode.UNAVAILABLE, 503),
    ModelUnavailable: Status(StatusCode.UNAVAILABLE, 503),
    StoreUnreachable: Status(StatusCode.UNAVAILABLE, 503),
    BodyTooLarge: Status(StatusCode.RESOURCE_EXHAUSTED, 413),
    BodyTooSlow: Status(StatusCode.INVALID_ARGUMENT, 408),
    ConfigStoreBusy: Status(StatusCode.RESOURCE_EXHAUSTED, 503),
    GoldenFailed: Status(StatusCode.INVALID_ARGUMENT, 422),
    MissingExtra: Status(StatusCode.INVALID_ARGUMENT, 501),
    RemoteFailed: Status(StatusCode.INTERNAL, 502),
    Unreachable: Status(StatusCode.RESOURCE_EXHAUSTED, 503),
    VersionConflict: Status(StatusCode.INVALID_ARGUMENT, 409),
}
"""Errors that callers must tell from others of the same fault."""


def status_of(error: InferflowError) -> Status:
    return BY_KIND.get(type(error)) or BY_FAULT[error.fault]


def text_of(error: InferflowError) -> str:
    """What the caller is told. The inside of a config is its author's business, not a caller's."""
    if isinstance(error, PlanRejected):
        count = len(error.problems)
        return f"model config {error.config_id!r} is not live: it has {count} problem(s)"
    return short(str(error))


def short(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
