"""A project whose models a fleet serves: `manager://` endpoints, real processes."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import inferflow
from inferflow.demo.shop import write_shop
from inferflow.plan.document import read_document
from inferflow.serving.runtime import ModelRepository

from ..robustness.scenario import StartScenario
from . import serving_process
from .fleet_process import FleetRun, until

REQUESTS = ("ranker", "ranker_guest", "pairs", "page")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("managed") / "shop"
    write_shop(root)
    return root


@pytest.fixture(scope="module")
def fleet(shop: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FleetRun]:
    """A fleet that serves the shop's models."""
    run = FleetRun(tmp_path_factory.mktemp("fleet"))
    models = ModelRepository(shop / "models")
    try:
        run.add_manager()
        for name in models.names():
            for version in models.versions(name):
                run.publish(name, models.find(name, version).path.read_bytes(), version=version)
        run.add_worker("w1")
        yield run
    finally:
        run.close()


@pytest.fixture
def by_fleet(fleet: FleetRun, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Settings by which every model of the project is one of the fleet."""
    monkeypatch.setenv("INFERFLOW_API_KEY", fleet.caller_key)
    return {"endpoints": {"": "manager://" + ",".join(fleet.managers)}}


def request(shop: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = read_document(shop / "requests" / f"{name}.json")
    return found


def test_scores_by_a_fleet_are_those_of_this_process_to_the_last_bit(
    shop: Path, by_fleet: dict[str, Any]
) -> None:
    with inferflow.open(shop) as near, inferflow.open(shop, settings=by_fleet) as far:
        for name in REQUESTS:
            here, there = near.answer(request(shop, name)), far.answer(request(shop, name))
            for ours, theirs in ((here.targets, there.targets), (here.groups, there.groups)):
                assert (ours is None) == (theirs is None)
                if ours is not None and theirs is not None:
                    assert ours.errors == theirs.errors
                    for column, values in ours.columns.items():
                        np.testing.assert_array_equal(theirs.columns[column].values, values.values)


def test_what_happened_names_the_fleet(shop: Path, by_fleet: dict[str, Any]) -> None:
    with inferflow.open(shop, settings=by_fleet) as flow:
        shown = str(flow.explain("ranker", request(shop, "ranker")))
    assert by_fleet["endpoints"][""] in shown


@pytest.mark.robustness
def test_a_served_project_moves_its_calls_when_a_worker_is_killed(
    shop: Path, fleet: FleetRun, tmp_path: Path, scenario: StartScenario
) -> None:
    tried = scenario("A1", "one of two workers behind an orchestrator killed")
    managed = tmp_path / "shop"
    shutil.copytree(shop, managed)
    with open(managed / "inferflow.toml", "a") as settings:
        settings.write(f'\n[endpoints]\n"" = "manager://{fleet.managers[0]}"\n')
    second = fleet.add_worker("w2")
    served = serving_process.start(managed, INFERFLOW_API_KEY=fleet.caller_key)
    try:
        with inferflow.connect(f"127.0.0.1:{served.port}") as client:
            asked = request(shop, "ranker")
            expected = client.answer(asked)
            assert not any(expected.errors)
            assert fleet.managers[0] in str(client.explain("ranker", asked))
            second.kill()
            answers = [client.answer(asked) for _ in range(40)]
        wrong = [each.errors for each in answers if each.to_dict() != expected.to_dict()]
        tried.none("answer is marked or otherwise", wrong, of=len(answers))
        until(lambda: fleet.worker_states()["w2"] == "offline")
    finally:
        served.close()
