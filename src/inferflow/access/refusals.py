"""How many calls a server turned away, and why; nothing of who made them.

Every edge of a server notes the errors it answers with; only those that turn somebody away count.
Noted on one event loop, so nothing is locked.
"""

from __future__ import annotations

from inferflow.errors import (
    Fault,
    InferflowError,
    PermissionDenied,
    RateLimited,
    Unauthenticated,
)

UNCHECKED = "unchecked"
_REASONS: tuple[tuple[type[InferflowError], str], ...] = (
    (Unauthenticated, "unauthenticated"),
    (PermissionDenied, "permission"),
    (RateLimited, "rate"),
)
REASONS = (*(reason for _, reason in _REASONS), UNCHECKED)


class Refusals:
    def __init__(self) -> None:
        self._counts = dict.fromkeys(REASONS, 0)

    def note(self, error: InferflowError) -> None:
        """An answer to a call. Errors that turn nobody away are passed over."""
        for kind, reason in _REASONS:
            if isinstance(error, kind):
                self._counts[reason] += 1

    def note_unknown(self, error: InferflowError) -> None:
        """The same while it is being found out who calls, where any error turns them away: what
        should prove it is missing, or those who know the keys cannot be asked."""
        if isinstance(error, Unauthenticated | PermissionDenied | RateLimited):
            self.note(error)
        elif error.fault is Fault.CALLER:
            self._counts["unauthenticated"] += 1
        else:
            self._counts[UNCHECKED] += 1

    def counts(self) -> dict[str, int]:
        """By reason; all of them, from the start."""
        return dict(self._counts)
