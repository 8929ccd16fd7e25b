"""What one call is made of: how its bytes are read, and how its answer is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from typing import Any

from google.protobuf.message import DecodeError

from inferflow.api.entity import MissingEntities, TargetEntities
from inferflow.engine.limits import Limits
from inferflow.engine.request import ScoreRequest
from inferflow.errors import InvalidRequest
from inferflow.plan.plan import Plan
from inferflow.scores import Scores


@dataclass(frozen=True, slots=True)
class Caller:
    """What came beside the message."""

    day: date
    """Today in UTC, for everything that is decided by the day."""
    user_ids: tuple[str, ...] = ()
    """The `user-id` headers."""
    app_version_codes: tuple[str, ...] = ()

    @property
    def user_id(self) -> str:
        return self.user_ids[0] if self.user_ids else ""


class PlanSide:
    """What is kept per plan to read its requests."""

    def __init__(self, plan: Plan, limits: Limits) -> None:
        self.plan = plan
        self.limits = limits
        self.target_entities = TargetEntities(plan)
        self.missing_entities = MissingEntities(plan)


@dataclass(frozen=True, slots=True)
class Rpc:
    service: str
    method: str
    message: Any
    """The class that reads the request's bytes."""
    request: Callable[[Any, PlanSide, Caller], ScoreRequest]
    answer: Callable[[Scores], bytes]

    @property
    def path(self) -> str:
        return f"/{self.service}/{self.method}"

    def parse(self, body: bytes) -> Any:
        try:
            return self.message.FromString(body)
        except DecodeError:
            name = self.message.DESCRIPTOR.name
            raise InvalidRequest("request", f"these bytes are not a {name} message") from None
