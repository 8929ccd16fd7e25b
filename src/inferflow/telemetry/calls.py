"""The call that is being answered, for whoever logs or keeps something on its way.

A task has its own; a thread that works for a call is given it with the context.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from inferflow.plan.plan import Plan


class Call:
    """One call, as far as it is known by now."""

    __slots__ = (
        "arm",
        "config_id",
        "error",
        "is_kept",
        "method",
        "plan",
        "request_id",
        "told",
        "tracking_id",
    )

    def __init__(self, request_id: str, method: str = "") -> None:
        self.request_id = request_id
        self.method = method
        """Its path, such as `/Predict/InferPointWise`."""
        self.config_id = ""
        """What was asked for; empty until the request is read."""
        self.plan: Plan | None = None
        """What answers it; None when it never came so far."""
        self.arm = ""
        self.tracking_id = ""
        """The caller's own name for the request."""
        self.error = ""
        """The class of what was raised; empty when it was answered."""
        self.is_kept = False
        """Whether somebody keeps what happened; then nobody else has to."""
        self.told: tuple[tuple[str, str], ...] = ()
        """Headers of its answer that few calls have."""


_current: ContextVar[Call | None] = ContextVar("inferflow_call", default=None)


def begin_call(call: Call) -> None:
    """What the current task does from now on is part of this call."""
    _current.set(call)


def current_call() -> Call | None:
    return _current.get()


@contextmanager
def request_context(call: Call) -> Iterator[None]:
    """What is done inside is part of this call; lines logged inside carry its id."""
    token = _current.set(call)
    try:
        yield
    finally:
        _current.reset(token)
