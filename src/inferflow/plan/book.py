"""All plans of a process at one moment. Replaced whole on a change, never edited."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from inferflow.errors import NotFound, PlanRejected
from inferflow.plan.compiler import Compiled
from inferflow.plan.problems import nearest

Live = TypeVar("Live")
"""What serves a plan: for an engine, the plan with its components."""


@dataclass(frozen=True, slots=True)
class PlanBook(Generic[Live]):
    """Config id → what serves it, and the status of every config that was tried."""

    live: Mapping[str, Live] = field(default_factory=dict)
    status: Mapping[str, Compiled] = field(default_factory=dict)

    def get(self, config_id: str) -> Live:
        """The plan of this id; says why when there is none."""
        found = self.live.get(config_id)
        if found is not None:
            return found
        tried = self.status.get(config_id)
        if tried is not None:
            raise PlanRejected(config_id, tried.errors)
        raise NotFound("model config", config_id, nearest=nearest(config_id, self.live))
