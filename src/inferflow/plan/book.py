"""All plans of a process at one moment. Replaced whole on a change, never edited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from inferflow.errors import InvalidRequest, NotFound, PlanRejected
from inferflow.plan.compiler import Compiled
from inferflow.plan.problems import nearest
from inferflow.plan.split import Split

Live = TypeVar("Live")
"""What serves a plan: for an engine, the plan with its components."""


@dataclass(frozen=True, slots=True)
class LiveSplit(Generic[Live]):
    """A split with what serves each of its arms."""

    split: Split
    arms: tuple[Live, ...]


@dataclass(frozen=True, slots=True)
class PlanBook(Generic[Live]):
    """Config id → what serves it, and the status of every config that was tried."""

    live: Mapping[str, Live] = field(default_factory=dict)
    status: Mapping[str, Compiled] = field(default_factory=dict)
    splits: Mapping[str, LiveSplit[Live]] = field(default_factory=dict)

    @property
    def ids(self) -> tuple[str, ...]:
        """Every id a request may name."""
        return (*self.live, *self.splits)

    def get(self, config_id: str) -> Live:
        """The plan of this id; says why when there is none."""
        found = self.live.get(config_id)
        if found is not None:
            return found
        split = self.splits.get(config_id)
        if split is not None:
            arms = ", ".join(map(repr, split.split.arms))
            raise InvalidRequest(
                "model_config_id", f"{config_id!r} stands for several configs", f"one of {arms}"
            )
        tried = self.status.get(config_id)
        if tried is not None:
            raise PlanRejected(config_id, tried.errors)
        known = {**self.live, **self.splits, **self.status}
        raise NotFound("model config", config_id, nearest=nearest(config_id, known))
