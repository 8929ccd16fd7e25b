"""How much of a model is too much."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class IntakeLimits:
    """What a model may contain, and what looking at it may cost."""

    nodes: int = 50_000
    """Operators over the whole graph, the inside of loops and branches counted."""
    depth: int = 16
    """Loops and branches inside each other."""
    seconds: float = 30.0
    """From the start of the child process to its answer."""
    run_seconds: float = 10.0
    """For the one run."""
    memory_bytes: int = 6 << 30
    """Addresses the child may use, which is more than memory. Three times the model is added."""
