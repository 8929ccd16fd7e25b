"""A served project while a service it depends on is away, dies, hangs, is slow or comes back."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from .load import Load
from .scenario import Scenario, StartScenario
from .services import FEATURES, KINDS, STEP_DEADLINE_MS, Dependency, Kind

DEADLINE_MS = 3_000
SLACK_MS = 500
"""For a busy machine; a call that waited for the service without end would take seconds."""
FAST_MS = 50
"""An answer while the service is known to be silent: nobody waits for it any more."""

pytestmark = pytest.mark.timeout(180)

kinds = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.name, scope="module")


@pytest.fixture(scope="module")
def dependency(kind: Kind, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Dependency]:
    """A service that is well, with a server that uses it; tests hurt it and heal it."""
    made = Dependency(kind, tmp_path_factory.mktemp("dependency"))
    try:
        made.start()
        made.serve()
        yield made
    finally:
        made.close()


@pytest.fixture
def load(dependency: Dependency) -> Iterator[Load]:
    made = Load(dependency.port, deadline_ms=DEADLINE_MS)
    made.wait_for("clean")
    yield made
    made.end()


def state_all(tried: Scenario, load: Load, back_s: float) -> None:
    load.end()
    tried.none("request fails", load.failures)
    tried.at_most("slowest answer", load.slowest_s * 1000, DEADLINE_MS + SLACK_MS, " ms")
    tried.at_most("clean again after", back_s, 5.0, " s")


@kinds
def test_a_service_that_is_down_at_the_start_is_used_when_it_comes(
    kind: Kind,
    tmp_path_factory: pytest.TempPathFactory,
    scenario: StartScenario,
) -> None:
    tried = scenario("D10", f"{kind.name} down at the start")
    made = Dependency(kind, tmp_path_factory.mktemp("absent"))
    try:
        load = Load(made.serve().port, deadline_ms=DEADLINE_MS)
        load.wait_for("marked")
        made.start()
        state_all(tried, load, load.wait_for("clean"))
    finally:
        made.close()


@kinds
def test_a_service_that_is_killed_costs_marks_and_no_time(
    dependency: Dependency, load: Load, scenario: StartScenario
) -> None:
    tried = scenario("D11", f"{dependency.kind.name} killed under load, started again")
    dependency.kill()
    load.wait_for("marked", 50)
    load.took_s.clear()
    load.wait_for("marked", 100)
    tried.at_most("median answer without it", load.median_ms(), FAST_MS, " ms")
    dependency.start()
    state_all(tried, load, load.wait_for("clean"))


@kinds
def test_a_service_that_hangs_is_soon_not_waited_for(
    dependency: Dependency, load: Load, scenario: StartScenario
) -> None:
    tried = scenario("D12", f"{dependency.kind.name} hangs under load")
    dependency.hang()
    try:
        load.wait_for("marked", 20)
        load.took_s.clear()
        load.wait_for("marked", 100)
        tried.at_most("median answer meanwhile", load.median_ms(), FAST_MS, " ms")
    finally:
        dependency.wake()
    state_all(tried, load, load.wait_for("clean"))


@kinds
def test_a_service_that_is_slower_than_its_deadline_is_left_at_it(
    dependency: Dependency, load: Load, scenario: StartScenario
) -> None:
    tried = scenario("D1", f"{dependency.kind.name} slower than its deadline")
    dependency.slow_down(2 * STEP_DEADLINE_MS / 1000)
    try:
        load.wait_for("marked", 30)
    finally:
        dependency.slow_down(0)
    state_all(tried, load, load.wait_for("clean"))


@kinds
def test_a_service_that_is_a_little_slow_costs_nothing_but_time(
    dependency: Dependency, load: Load, scenario: StartScenario
) -> None:
    tried = scenario("B3", f"{dependency.kind.name} 50 ms slower")
    dependency.slow_down(0.05)
    try:
        before = load.marked
        load.wait_for("clean", 20)
        tried.at_most("marked answers", load.marked - before, 0)
    finally:
        dependency.slow_down(0)
    state_all(tried, load, load.wait_for("clean"))


RESETS = 20


@kinds
def test_connections_that_break_again_and_again_cost_hardly_an_answer(
    dependency: Dependency, load: Load, scenario: StartScenario
) -> None:
    tried = scenario("B4", f"connections to the {dependency.kind.name} broken {RESETS} times")
    answers, marked = load.answers, load.marked
    for _ in range(RESETS):
        dependency.reset()
        load.wait_for("answers", 50)
    share = 1 - (load.marked - marked) / (load.answers - answers)
    tried.at_least("answers without marks", share, 0.999)
    state_all(tried, load, load.wait_for("clean"))


_REFUSED = re.compile("UNAUTHENTICATED|try again in")
CALLERS = '[callers.shop]\ntoken = "right"\n'


@pytest.mark.parametrize(("token", "what"), [("right", "clean"), ("wrong", "marked")])
def test_a_caller_the_feature_store_does_not_know_gets_marks_that_say_so(
    token: str, what: str, tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("D13", f"feature store asked with the {token} token")
    (tmp_path / "callers.toml").write_text(CALLERS)
    made = Dependency(FEATURES, tmp_path)
    try:
        made.start(INFERFLOW_FEATURE_STORE_CALLERS_FILE=str(tmp_path / "callers.toml"))
        login = {"externalServiceOnFs_callerId": "shop", "externalServiceOnFs_callerToken": token}
        load = Load(made.serve(**login).port, deadline_ms=DEADLINE_MS)
        load.wait_for(what)
        load.end()
        tried.none("request fails", load.failures)
        tried.at_most("other answers", load.answers - getattr(load, what), 0)
        # Who shows wrong tokens again and again is told to wait.
        told = [error for error in load.errors if not _REFUSED.search(error)]
        tried.none("mark without the reason", told)
    finally:
        made.close()
