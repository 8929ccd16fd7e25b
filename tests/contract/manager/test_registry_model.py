"""The registry against a dictionary: whatever is done to both, they agree.

Hypothesis chooses what is done; each database is asked the same. The dictionary's rules are written
out here on purpose, apart from those of the code.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from inferflow.access import OPERATOR
from inferflow.errors import InferflowError, NotFound, RegistryConflict, Unauthenticated
from inferflow.serving.manager.keys import KeyOrder
from inferflow.serving.manager.storage.records import Stage

from ...robustness.scenario import StartScenario
from ...servers.postgres import PostgresServer
from ...unit.serving.manager.office import Office, order

NAMES = st.sampled_from(["ranker", "embedder"])
NUMBERS = st.integers(1, 4)
STAGES = st.sampled_from(list(Stage))

FEW = 6
EXAMPLES = int(os.environ.get("INFERFLOW_TEST_EXAMPLES", FEW))
"""More of them, and others each time, when somebody has the time."""
STEPS = 25


class RegistryMachine(RuleBasedStateMachine):
    """`open_office` is set by the test."""

    open_office: Any

    def __init__(self) -> None:
        super().__init__()
        self.office: Office = type(self).open_office()
        self.stages: dict[str, dict[int, Stage]] = {}
        self.traffic: dict[str, dict[int, float]] = {}
        self.last: dict[str, int] = {}
        self.keys: dict[str, tuple[str, bool]] = {}
        """key id → text, and whether it is live"""

    def teardown(self) -> None:
        self.office.close()

    def expect(self, kind: type[InferflowError] | None, work: Any) -> Any:
        """Do it, and see it succeed or fail as the dictionary says."""
        if kind is None:
            return self.office.run(work)
        with pytest.raises(kind):
            self.office.run(work)
        return None

    @rule(name=NAMES, stage=STAGES)
    def publish(self, name: str, stage: Stage) -> None:
        begun = self.office.upload(order(name), by=OPERATOR)
        version = self.expect(
            None, self.office.services.publishing.finish(OPERATOR, begun.upload_id, stage)
        )
        number = self.last.get(name, 0) + 1
        assert version.number == number
        self.last[name] = number
        self.stages.setdefault(name, {})[number] = Stage.DEV
        self.moved(name, number, stage)

    @rule(name=NAMES, number=NUMBERS, to=STAGES, expected=st.none() | STAGES)
    def promote(self, name: str, number: int, to: Stage, expected: Stage | None) -> None:
        known = self.stages.get(name, {})
        kind: type[InferflowError] | None = None
        if number not in known:
            kind = NotFound
        elif expected is not None and known[number] is not expected:
            kind = RegistryConflict
        elif known[number] is not to and to in (Stage.DEV, Stage.ARCHIVED):
            kind = RegistryConflict if number in self.traffic.get(name, {}) else None
        registry = self.office.services.registry
        self.expect(kind, registry.promote(OPERATOR, name, number, to, expected=expected))
        if kind is None:
            self.moved(name, number, to)

    def moved(self, name: str, number: int, to: Stage) -> None:
        known = self.stages[name]
        if to is Stage.PRODUCTION and known[number] is not to:
            self.traffic.pop(name, None)
            for other, stage in known.items():
                if stage is Stage.PRODUCTION:
                    known[other] = Stage.ARCHIVED
        known[number] = to

    @rule(name=NAMES, numbers=st.sets(NUMBERS, max_size=2))
    def split(self, name: str, numbers: set[int]) -> None:
        known = self.stages.get(name, {})
        kind: type[InferflowError] | None = None
        if not known:
            kind = NotFound
        for number in sorted(numbers) if known else ():
            if number not in known:
                kind = NotFound
            elif known[number] not in (Stage.STAGING, Stage.PRODUCTION):
                kind = RegistryConflict
            if kind:
                break
        traffic = {number: 100.0 / len(numbers) for number in sorted(numbers)}
        self.expect(kind, self.office.services.registry.set_traffic(OPERATOR, name, traffic))
        if kind is None:
            self.traffic[name] = traffic

    @rule(name=NAMES, number=NUMBERS)
    def delete(self, name: str, number: int) -> None:
        known = self.stages.get(name, {})
        kind: type[InferflowError] | None = None
        if number not in known:
            kind = NotFound
        elif number in self.traffic.get(name, {}) or known[number] is Stage.PRODUCTION:
            kind = RegistryConflict
        self.expect(kind, self.office.services.registry.delete_version(OPERATOR, name, number))
        if kind is None:
            del known[number]

    @rule()
    def create_key(self) -> None:
        wanted = KeyOrder("k", ["inference"])
        made = self.expect(None, self.office.services.keys.create(OPERATOR, wanted))
        self.keys[made.card.key_id] = (made.text, True)

    @rule(which=st.integers(0, 3))
    def revoke_key(self, which: int) -> None:
        if which >= len(self.keys):
            self.expect(NotFound, self.office.services.keys.revoke(OPERATOR, "nobody"))
            return
        key_id = list(self.keys)[which]
        self.expect(None, self.office.services.keys.revoke(OPERATOR, key_id))
        self.keys[key_id] = (self.keys[key_id][0], False)

    @rule()
    def restart(self) -> None:
        self.office.reopen()

    @invariant()
    def agrees(self) -> None:
        services = self.office.services
        models = {model.name: model for model in services.registry.models(OPERATOR)}
        assert set(models) == {name for name, known in self.stages.items() if known}
        for name, model in models.items():
            assert {v.number: v.stage for v in model.versions} == self.stages[name]
            assert model.traffic == self.traffic.get(name, {})
            for version in model.versions:
                steps = [change.to_stage for change in version.history]
                assert steps[-1] is version.stage
                assert [change.from_stage for change in version.history] == [None, *steps[:-1]]
        for key_id, (text, is_live) in self.keys.items():
            if is_live:
                assert services.keys.authenticate(text).key_id == key_id
            else:
                with pytest.raises(Unauthenticated):
                    services.keys.authenticate(text)


@pytest.fixture
def fresh_urls(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Another empty database each time one is taken."""
    if request.param == "sqlite":
        return (f"sqlite:///{tmp_path / str(number)}.db" for number in range(10**6))
    server: PostgresServer = request.getfixturevalue("postgres")
    return (server.new_database() for _ in range(10**6))


@pytest.mark.parametrize("fresh_urls", ["sqlite", "postgres"], indirect=True)
def test_the_registry_agrees_with_a_dictionary(
    fresh_urls: Iterator[str], scenario: StartScenario
) -> None:
    tried = scenario("K2", f"registries changed {STEPS} times at random, SQLite and PostgreSQL")

    class Machine(RegistryMachine):
        @staticmethod
        def open_office() -> Office:
            return Office(next(fresh_urls), "memory:///")

        def teardown(self) -> None:
            super().teardown()
            tried.shown("as a dictionary would", "equal")

    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=EXAMPLES,
            stateful_step_count=STEPS,
            deadline=None,
            derandomize=EXAMPLES == FEW,
            suppress_health_check=list(HealthCheck),
        ),
    )


def test_whoever_promotes_at_once_one_version_is_in_production(
    database_url: str, scenario: StartScenario
) -> None:
    """Eight clients at two managers; what happened has an order that explains all of it."""
    tried = scenario("K2", "eight clients of two managers promote at once, on every database")
    office = Office(database_url, "memory:///")
    try:
        for _ in range(4):
            office.publish()
        managers = [office.services, office.another()]

        async def client(which: int) -> None:
            for round_ in range(3):
                manager = managers[which % 2]
                number = (which + round_) % 4 + 1
                await manager.registry.promote(OPERATOR, "ranker", number, Stage.PRODUCTION)

        async def all_at_once() -> None:
            await asyncio.gather(*(client(which) for which in range(8)))
            for manager in managers:
                await manager.tick()

        office.run(all_at_once())
        models = [manager.registry.model(OPERATOR, "ranker") for manager in managers]
        assert models[0] == models[1]
        stages = [version.stage for version in models[0].versions]
        live = stages.count(Stage.PRODUCTION)
        tried.holds("one version is in production", live, live == 1)
        for version in models[0].versions:
            steps = [change.to_stage for change in version.history]
            assert [change.from_stage for change in version.history] == [None, *steps[:-1]]
            assert steps[-1] is version.stage
        office.run(managers[1].close())
    finally:
        office.close()
