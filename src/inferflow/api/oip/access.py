"""Who may call a worker.

A caller is identified by what comes beside the message, before the message is read; what it may
do is asked once the model is known.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

Metadata = Sequence[tuple[str, str | bytes]]


class Caller(Protocol):
    """Somebody who has been identified."""

    @property
    def key_id(self) -> str:
        """Under which name this caller is counted."""
        ...

    @property
    def version(self) -> str:
        """The version this caller means who names none; empty for the model's default."""
        ...

    def check_inference(self, model: str, version: str) -> None:
        """Raises PermissionDenied or RateLimited."""
        ...

    def check_model(self, model: str) -> None:
        """For looking at a model. Raises PermissionDenied."""
        ...

    def check_administration(self) -> None:
        """For looking at all models, loading and unloading. Raises PermissionDenied."""
        ...


class Access(Protocol):
    def identify(self, metadata: Metadata) -> Caller:
        """Raises Unauthenticated."""
        ...
