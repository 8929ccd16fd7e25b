"""Callers that are turned away: they may not, or not so much at once."""

from __future__ import annotations

from inferflow.errors.root import Fault, InferflowError


class Unauthenticated(InferflowError):
    """The caller did not prove who it is. Says as little as is needed to put it right."""

    fault = Fault.CALLER


class PermissionDenied(InferflowError):
    """The caller is known, and may not do this."""

    fault = Fault.CALLER


class RateLimited(InferflowError):
    """Somebody asks more often than they may. Others are not held up by it."""

    fault = Fault.BUSY

    def __init__(self, who: str, *, retry_after_ms: int) -> None:
        super().__init__(f"{who} asks more often than allowed; try again in {retry_after_ms} ms")
        self.who = who
        self.retry_after_ms = retry_after_ms


class Overloaded(InferflowError):
    """As many calls as allowed are under way. The same call may be made again a little later."""

    fault = Fault.BUSY

    def __init__(self, limit: int | None, *, retry_after_ms: int, is_local: bool = False) -> None:
        """`limit` is None where only the server knows it. `is_local`: a client did not send the
        call, because most were refused lately."""
        places = "all places" if limit is None else f"all {limit} places"
        what = (
            "most calls were refused lately and this one was not sent"
            if is_local
            else f"{places} are taken"
        )
        super().__init__(f"{what}; try again in {retry_after_ms} ms")
        self.limit = limit
        self.retry_after_ms = retry_after_ms
        self.is_local = is_local


class TooManySockets(InferflowError):
    """As many sockets as allowed are open: in all, or of one caller."""

    fault = Fault.BUSY

    def __init__(self, who: str, limit: int, setting: str) -> None:
        super().__init__(
            f"{who} has {limit} WebSockets open, which is all that {setting} allows; close one, or"
            " try again later"
        )
        self.who = who
        self.limit = limit
        self.retry_after_ms = 1_000
