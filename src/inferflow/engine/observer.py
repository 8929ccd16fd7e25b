"""Who may watch the engine: plain facts go out, and nothing comes back.

The engine hands over what it counted once per request, when the request has ended: one call,
whatever the number of steps. It knows nothing of metrics, logs or where they are sent. An
observer is called on the request's own path, from any thread, so it must be quick and must
not wait; one that raises is reported and changes no answer.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from inferflow.engine.recording import StepRecord
from inferflow.engine.request import ScoreRequest
from inferflow.engine.run import Run
from inferflow.errors import Fault, InferflowError
from inferflow.plan.plan import Plan

Mode = Literal["pointwise", "pairwise", "slatewise", "legacy"]
"""How a request was asked; `legacy` is the older call that returns text rows."""

CANCELLED = "cancelled"
"""The outcome of a request its caller gave up. Any other that failed has a `Fault`'s name."""

log = logging.getLogger(__name__)


@dataclass(slots=True)
class RequestStats:
    """One request, counted. Holds no values, and keys only if the request was recorded too."""

    plan: Plan
    mode: Mode
    steps: Sequence[StepRecord]
    """What each step did, in the plan's order. Those that never ran have no duration."""
    rows: int = 0
    """What was asked about: targets, pairs or slates; 0 when the request was refused."""
    duration_s: float = 0.0
    outcome: str = ""
    """Empty when the request was answered; else who has to act (`Fault`), or CANCELLED."""
    error: str = ""
    """The class of what was raised."""

    def blame(self, error: BaseException) -> None:
        """Note why the request failed."""
        self.error = type(error).__name__
        if isinstance(error, asyncio.CancelledError | GeneratorExit):
            self.outcome = CANCELLED
        else:
            fault = error.fault if isinstance(error, InferflowError) else Fault.OURS
            self.outcome = fault.value


class Observer:
    """Sees what happens. Every method does nothing until it is overridden."""

    def request_started(self, plan: Plan) -> None:
        """A plan begins to answer a request."""

    def request_answered(self, run: Run) -> None:
        """Scores are there. Whoever wants the values may keep the run: nothing in it changes any
        more, but it is large, so not for long."""

    def request_ended(self, request: RequestStats) -> None:
        """It has answered, failed or been cancelled."""

    def call_ended(self, method: str, status: int, duration_s: float) -> None:
        """A server answered one call. `status` is the code its protocol uses."""

    def plan_live(self, config_id: str, version: str) -> None:
        """A config was accepted and serves from now on."""

    def plan_rejected(self, config_id: str, problems: int) -> None:
        """A config was refused; what served before still does."""

    def plan_removed(self, config_id: str) -> None:
        """A config is gone."""

    def arm_chosen(self, experiment: str, config_id: str) -> None:
        """An id that stands for several configs was resolved to one of them."""

    def logs_sent(self, config_id: str, messages: int) -> None:
        """Messages of the inference log were delivered."""

    def logs_failed(self, config_id: str, why: str, messages: int) -> None:
        """Messages of the inference log were lost. `why` is one of a few fixed words."""


class Observers(Observer):
    """Several observers as one. One that raises is reported and keeps nothing from the others."""

    def __init__(self, *observers: Observer) -> None:
        for event, nothing in vars(Observer).items():
            if not event.startswith("_"):
                heard = [getattr(observer, event) for observer in observers]
                listeners = [each for each in heard if getattr(each, "__func__", 0) is not nothing]
                # One call in place of a method that looks its listeners up: this is met by every
                # request.
                setattr(self, event, _telling(listeners))


def _telling(listeners: Sequence[Callable[..., None]]) -> Callable[..., None]:
    def tell(*facts: object) -> None:
        for listener in listeners:
            try:
                listener(*facts)
            except Exception:  # an observer is a guest: its bugs are not the request's
                log.exception("observer_failed", extra={"listener": listener.__qualname__})

    return tell


def guarded(observer: Observer) -> Observers:
    """An observer that cannot fail whoever reports to it."""
    return observer if isinstance(observer, Observers) else Observers(observer)


def mode_of(request: ScoreRequest) -> Mode:
    if request.legacy:
        return "legacy"
    if request.pairs is not None:
        return "pairwise"
    return "pointwise" if request.slates is None else "slatewise"
