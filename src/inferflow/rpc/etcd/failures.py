"""What etcd's refusals mean here, by who has to act."""

from __future__ import annotations

import grpc

from inferflow.errors import (
    InferflowError,
    InvalidInput,
    PermissionDenied,
    RemoteFailed,
    Unauthenticated,
    Unreachable,
)

_Code = grpc.StatusCode
AWAY = (_Code.UNAVAILABLE, _Code.DEADLINE_EXCEEDED, _Code.CANCELLED)
"""Another member, or the same a little later, may answer."""
AUTH_IS_OFF = "authentication is not enabled"
_STALE_LOGIN = "revision of auth store is old"
_TOO_LARGE = ("request is too large", "larger than max")
_WHO = ("authentication failed", "user name is empty")


def is_stale_login(error: grpc.RpcError) -> bool:
    """Whether logging in again may help: the token has expired, etcd was restarted and forgot it,
    or rights have changed since."""
    return error.code() is _Code.UNAUTHENTICATED or _STALE_LOGIN in (error.details() or "")


def translated(error: grpc.RpcError, address: str) -> InferflowError:
    code, said = error.code(), error.details() or ""
    if code in AWAY:
        return Unreachable(f"{address} (etcd)", 1, said.rpartition("last error: ")[2] or code.name)
    if code is _Code.UNAUTHENTICATED or any(each in said for each in _WHO):
        return Unauthenticated(f"etcd at {address} does not know who asks: {said}")
    if code is _Code.PERMISSION_DENIED:
        return PermissionDenied(f"etcd at {address} does not allow this: {said}")
    if any(each in said for each in _TOO_LARGE):
        return InvalidInput(f"etcd at {address} takes no value as large as this: {said}")
    return RemoteFailed(code.name, f"etcd at {address}: {said}")
