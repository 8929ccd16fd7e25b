"""Services over a small world of fakes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import Any

import pytest

from inferflow.api.service import CallPolicy, ScoringService
from inferflow.engine.limits import Limits
from inferflow.engine.scorer import Scorer
from inferflow.plan.book import PlanBook
from inferflow.rpc.admission import Admission
from inferflow.testing import World

from .calling import Caller
from .shop import configs, make_world

DAY = date(2025, 11, 15)


@pytest.fixture(scope="session")
def world() -> World:
    return make_world()


@pytest.fixture(scope="session")
def book(world: World) -> PlanBook[Scorer]:
    compiled = {name: world.compile({name: content}) for name, content in configs().items()}
    live = {
        name: world.scorer({name: configs()[name]})
        for name, result in compiled.items()
        if result.plan is not None
    }
    return PlanBook(live, compiled)


MakeService = Callable[..., ScoringService]


@pytest.fixture(scope="session")
def make_service(book: PlanBook[Scorer]) -> MakeService:
    def made(*, in_flight: int = 100, policy: CallPolicy | None = None, **more: Any) -> Any:
        return ScoringService(
            book.get,
            limits=Limits(),
            admission=Admission(in_flight),
            policy=policy,
            today=lambda: DAY,
            **more,
        )

    return made


@pytest.fixture(scope="session")
def call(make_service: MakeService) -> Caller:
    return Caller(make_service())
