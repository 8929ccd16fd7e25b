"""What one call is made of: how its bytes are read, and how its answer is written."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from google.protobuf.message import DecodeError

from inferflow.access import KeyCard
from inferflow.api.entity import MissingEntities, TargetEntities
from inferflow.engine.limits import Limits
from inferflow.engine.request import ScoreRequest
from inferflow.errors import InvalidRequest
from inferflow.inferlog.sampling import daily_share
from inferflow.plan.plan import Plan
from inferflow.scores import Scores


@dataclass(slots=True)
class Caller:
    """What came beside the message."""

    today: Callable[[], date]
    """The day in UTC, for what is decided by it; asked only where something is."""
    user_ids: tuple[str, ...] = ()
    """The `user-id` headers."""
    app_version_codes: tuple[str, ...] = ()
    target: str = ""
    """What the caller takes the targets for, when it says so."""
    parent: str = ""
    """What the request as a whole is about, when the caller says so."""
    key: KeyCard | None = None
    """Who was let in; None where nobody is asked."""

    @property
    def user_id(self) -> str:
        return self.user_ids[0] if self.user_ids else ""

    def share(self, percent: int) -> Callable[[str], bool] | None:
        """Says who belongs to so many percent of those who ask today. None when nobody does."""
        return daily_share(percent, self.today()) if percent > 0 else None


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
    path: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", f"/{self.service}/{self.method}")

    def parse(self, body: bytes) -> Any:
        try:
            return self.message.FromString(body)
        except DecodeError:
            name = self.message.DESCRIPTOR.name
            raise InvalidRequest(
                "request",
                f"these bytes are not a {name} message",
                "cut off, of another type, or with text that is not UTF-8",
            ) from None
