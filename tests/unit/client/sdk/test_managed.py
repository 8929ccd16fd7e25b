"""`manager://` endpoints: models of a fleet as the steps of a project run them."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import grpc
import pytest

from inferflow.client.oip.runner import RemoteModels, RemoteOptions
from inferflow.engine.deadline import Deadline
from inferflow.errors import DeadlinePassed, ModelFailed, Unreachable
from inferflow.plan.catalog import Endpoint, ModelSignature, UnknownSignature

from ....servers.discovery import Model
from ..oip.remote_parts import unused_address
from .fleet_parts import FleetParts, X, Y, fleet, refusing

CODES = grpc.StatusCode
FREE = [-1, 1]


@pytest.fixture
def two() -> Iterator[FleetParts]:
    with fleet() as parts:
        parts.manager.models["twice"] = registered(
            {"1": "archived", "2": "production", "3": "staging"}
        )
        yield parts


def registered(stages: dict[str, str], **traffic: float) -> Any:
    model = Model(
        name="twice", traffic={name.removeprefix("v"): it for name, it in traffic.items()}
    )
    for number, stage in stages.items():
        version = model.versions.add(version=number, stage=stage, digest=f"digest-{number}")
        version.inputs.add(name="x", datatype="FP32", shape=FREE)
        version.outputs.add(name="y", datatype="FP32", shape=FREE)
    return model


def at(parts: FleetParts, version: str | None = None, model: str = "twice") -> Endpoint:
    address = f"manager://{parts.manager.address}"
    return Endpoint(address, model, version, address)


def remote() -> RemoteModels:
    return RemoteModels(RemoteOptions(fleet_key="ifk_test"))


def ran(models: RemoteModels, endpoint: Endpoint, budget_ms: float | None = 5_000) -> Any:
    async def once() -> Any:
        prepared = models.prepare(endpoint, ("x",), ("y",))
        [y] = await prepared.run([X], deadline=Deadline(budget_ms))
        return y.tolist(), prepared.version

    return asyncio.run(once())


def known(models: RemoteModels, endpoint: Endpoint) -> ModelSignature:
    found = models.signature(endpoint)
    assert isinstance(found, ModelSignature)
    return found


@pytest.mark.parametrize(
    ("version", "asked", "answers"),
    [(None, ("", ""), "2"), ("3", ("3", ""), "3"), ("staging", ("", "staging"), "2")],
)
def test_a_step_is_run_by_the_version_the_manager_chooses(
    two: FleetParts, version: str | None, asked: tuple[str, str], answers: str
) -> None:
    two.manager.version = "2"
    assert ran(remote(), at(two, version)) == (Y, answers)
    [question] = two.manager.asked
    assert (question.version, question.stage) == asked
    assert two.manager.keys == ["Bearer ifk_test"]
    assert two.workers[0].requests[0].model_version == answers
    assert two.workers[0].headers[0]["authorization"] == "Bearer token-1"


@pytest.mark.parametrize(("version", "found"), [(None, "2"), ("1", "1"), ("staging", "3")])
def test_the_registry_says_what_a_model_takes(
    two: FleetParts, version: str | None, found: str
) -> None:
    two.manager.workers.clear()  # none needs to be up
    signature = known(remote(), at(two, version))
    assert signature.version == found
    assert [(t.name, t.shape) for t in signature.inputs] == [("x", (None, 1))]
    assert [(t.name, t.shape) for t in signature.outputs] == [("y", (None, 1))]


def test_of_a_split_the_largest_share_says_it(two: FleetParts) -> None:
    two.manager.models["twice"] = registered(
        {"1": "production", "2": "staging", "3": "staging"}, v1=20.0, v2=60.0, v3=20.0
    )
    assert known(remote(), at(two)).version == "2"


def test_another_version_in_production_is_another_signature(two: FleetParts) -> None:
    before = known(remote(), at(two))
    two.manager.models["twice"] = registered({"2": "archived", "4": "production"})
    after = known(remote(), at(two))
    assert (before.version, after.version) == ("2", "4")
    assert before.digest != after.digest


@pytest.mark.parametrize("version", ["9", "dev"])
def test_a_version_the_registry_has_not_is_none(two: FleetParts, version: str) -> None:
    assert remote().signature(at(two, version)) is None
    assert remote().signature(at(two, model="other")) is None


def test_a_manager_that_is_away_or_refuses_leaves_the_signature_unknown(two: FleetParts) -> None:
    address = f"manager://{unused_address()}"
    found = remote().signature(Endpoint(address, "twice", None, address))
    assert found == UnknownSignature(f"{address} does not answer", is_silent=True)
    two.manager.refusal = (CODES.UNAUTHENTICATED, "no such key")
    refused = remote().signature(at(two))
    assert isinstance(refused, UnknownSignature)
    assert "no such key" in refused.why


def test_another_process_reads_the_same_signature_from_what_was_told(two: FleetParts) -> None:
    told = known(remote(), at(two))
    assert remote().learn(at(two), told.told) == told


def test_failures_are_those_a_step_knows(two: FleetParts) -> None:
    two.manager.refusal = (CODES.UNAVAILABLE, "no worker is up")
    with pytest.raises(Unreachable, match="no worker is up"):
        ran(remote(), at(two))
    two.manager.refusal = (CODES.PERMISSION_DENIED, "not for this key")
    with pytest.raises(ModelFailed, match="not for this key"):
        ran(remote(), at(two))
    two.manager.refusal = None
    two.workers[0].infer = refusing(CODES.INVALID_ARGUMENT, "inputs: wrong")
    with pytest.raises(ModelFailed, match="inputs: wrong"):
        ran(remote(), at(two))
    two.workers[0].infer = refusing(CODES.DEADLINE_EXCEEDED, "Deadline Exceeded")
    with pytest.raises(DeadlinePassed):
        ran(remote(), at(two))


def test_steps_of_one_endpoint_share_a_line_and_other_versions_have_their_own(
    two: FleetParts,
) -> None:
    models = remote()

    async def use() -> None:
        prepared = [models.prepare(at(two, v), ("x",), ("y",)) for v in (None, None, "3")]
        for each in prepared:
            await each.run([X], deadline=Deadline(5_000))

    asyncio.run(use())
    assert len(two.manager.asked) == 2
    models.close()
