"""Work that is done for a span, and the spans it led to."""

from __future__ import annotations

import contextvars
from collections.abc import Callable
from typing import TypeVar

from inferflow.tracing import Sampling, Span, Tracer, enter_span

T = TypeVar("T")


def for_a_span(work: Callable[[], T], share: float = 1.0) -> tuple[T, Span, list[Span]]:
    """What the work returned, the span it was done for, and those that ended meanwhile."""
    ended: list[Span] = []
    span = Tracer(ended.append, Sampling(share)).begin("a call", "server", None)

    def inside() -> T:
        enter_span(span)
        return work()

    return contextvars.copy_context().run(inside), span, ended
