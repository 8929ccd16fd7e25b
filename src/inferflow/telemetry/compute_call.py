"""What a compute service reports of a call, and the words its failures are counted by."""

from __future__ import annotations

from typing import Protocol

from inferflow.telemetry.compute_table import ERROR_TYPES

OTHER = "other"
"""Stands for a compute id that is none, and for whatever there is no room for."""


class Call(Protocol):
    """A call that has ended."""

    compute_id: str
    caller: str
    outcome: str
    operations: tuple[str, ...]
    rows: int
    duration_s: float


def error_types(call: Call) -> tuple[str, ...]:
    known = ERROR_TYPES
    return tuple(known.get(operation, operation) for operation in call.operations)
