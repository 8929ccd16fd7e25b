"""Which models make room for another: those used least recently, never one that is in use."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Held(Generic[Key]):
    """A model in memory, as far as evicting is concerned."""

    key: Key
    memory_bytes: int
    last_used: float
    is_busy: bool


def evictions(
    held: Iterable[Held[Key]], needed_bytes: int, budget_bytes: int | None
) -> list[Key] | None:
    """What to unload so that `needed_bytes` fit; None when no choice makes enough room.

    Nothing is unloaded in vain: without enough room, everything stays.
    """
    if budget_bytes is None:
        return []
    held = list(held)
    excess = sum(each.memory_bytes for each in held) + needed_bytes - budget_bytes
    chosen: list[Key] = []
    for each in sorted((h for h in held if not h.is_busy), key=lambda h: h.last_used):
        if excess <= 0:
            break
        chosen.append(each.key)
        excess -= each.memory_bytes
    return chosen if excess <= 0 else None
