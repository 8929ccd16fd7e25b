"""One call to a fleet: what is sent, what comes back, and how long a manager's word is good for."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
import pytest

from inferflow.client.sdk.aio import AsyncFleetClient
from inferflow.errors import InvalidRequest, ModelUnavailable, Unauthenticated

from ....servers.open_inference import Model, answered
from .fleet_parts import FleetParts, X, Y, fleet, refusing

CODES = grpc.StatusCode


@pytest.fixture
def two() -> Iterator[FleetParts]:
    with fleet() as parts:
        yield parts


# --- a call that goes well ------------------------------------------------------------------------


def test_a_model_is_found_by_the_manager_and_run_by_the_worker(two: FleetParts) -> None:
    two.manager.version = "7"
    assert two.infer() == [Y]
    [asked] = two.manager.asked
    assert (asked.model, asked.version, asked.stage) == ("twice", "", "")
    assert two.manager.keys == ["Bearer ifk_test"]
    [sent] = two.workers[0].requests
    assert (sent.model_name, sent.model_version) == ("twice", "7")
    assert two.workers[0].headers[0]["authorization"] == "Bearer token-1"


def test_what_is_wanted_reaches_the_manager(two: FleetParts) -> None:
    two.infer(version=3, stage="staging", affinity="user-7", needs_gpu=True)
    [asked] = two.manager.asked
    assert (asked.version, asked.stage, asked.affinity_key) == ("3", "staging", "user-7")
    assert asked.needs_gpu
    assert two.workers[0].requests[0].model_version == "3"


def test_only_the_outputs_that_are_named_are_asked_for(two: FleetParts) -> None:
    model = Model(
        inputs=[("x", "FP32", [-1, 1])],
        outputs=[("y", "FP32", [-1, 1]), ("z", "INT64", [-1])],
        run=lambda x: {"y": x * 2, "z": np.arange(len(x))},
    )
    for worker in two.workers:
        worker.models["twice"] = model

    async def use(client: AsyncFleetClient) -> list[list[str]]:
        return [
            list(await client.infer("twice", {"x": X}, outputs=outputs))
            for outputs in (None, ["z"], ["z", "y"])
        ]

    assert two.run(use) == [["y", "z"], ["z"], ["z", "y"]]


@pytest.mark.parametrize(
    ("given", "datatype"),
    [
        ([[1.0], [2.0]], "FP64"),
        (np.array([1, 2], ">i4"), "INT32"),
        (np.array([[1, 2], [3, 4]], np.int16).T, "INT16"),
        (["a", "é"], "BYTES"),
        (True, "BOOL"),
    ],
)
def test_what_numpy_makes_arrays_of_arrives_as_it_is(given: Any, datatype: str) -> None:
    with fleet(1) as parts:
        echo = Model(
            inputs=[("x", datatype, [])], outputs=[("y", datatype, [])], run=lambda x: {"y": x}
        )
        parts.workers[0].models["echo"] = echo

        async def use(client: AsyncFleetClient) -> Any:
            return (await client.infer("echo", {"x": given}))["y"]

        assert parts.run(use).tolist() == np.asarray(given).tolist()
        assert parts.workers[0].requests[0].inputs[0].datatype == datatype


@pytest.mark.parametrize(
    "inputs",
    [{}, {"x": [[1.0], [2.0, 3.0]]}, {"x": [object()]}, {"x": np.array(["2020"], "datetime64[D]")}],
    ids=["none", "ragged", "objects", "dates"],
)
def test_inputs_that_are_no_tensors_are_refused_before_anybody_is_asked(
    two: FleetParts, inputs: Any
) -> None:
    with pytest.raises(InvalidRequest, match="inputs"):
        two.run(lambda client: client.infer("twice", inputs))
    assert two.manager.asked == []


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"model": ""}, "model"),
        ({"outputs": "y"}, "outputs"),
        ({"deadline_ms": "soon"}, "deadline_ms"),
    ],
)
def test_a_wrong_argument_is_named(two: FleetParts, more: dict[str, Any], field: str) -> None:
    call = {"model": "twice", "inputs": {"x": X}, **more}
    with pytest.raises(InvalidRequest, match=field):
        two.run(lambda client: client.infer(**call))


# --- sessions -------------------------------------------------------------------------------------


def test_the_manager_is_asked_once_for_many_calls(two: FleetParts) -> None:
    assert two.infer(times=5) == [Y] * 5
    assert len(two.manager.asked) == 1


def test_calls_that_begin_together_share_one_question(two: FleetParts) -> None:
    async def use(client: AsyncFleetClient) -> None:
        await asyncio.gather(*(client.infer("twice", {"x": X}) for _ in range(16)))

    two.run(use)
    assert len(two.manager.asked) == 1
    assert sum(two.counts) == 16


def test_each_affinity_has_a_session_of_its_own(two: FleetParts) -> None:
    async def use(client: AsyncFleetClient) -> None:
        for who in ("ann", "ben", "ann"):
            await client.infer("twice", {"x": X}, affinity=who)

    two.run(use)
    assert [asked.affinity_key for asked in two.manager.asked] == ["ann", "ben"]


def test_workers_are_looked_up_again_beside_the_calls(two: FleetParts) -> None:
    async def use(client: AsyncFleetClient) -> None:
        await client.infer("twice", {"x": X})
        two.clock.advance(16)
        two.manager.version = "2"
        two.manager.gate.clear()
        await client.infer("twice", {"x": X})  # does not wait for the manager
        two.manager.gate.set()
        while len(two.workers[0].requests) < 50:
            await client.infer("twice", {"x": X})
            if two.workers[0].requests[-1].model_version == "2":
                return

    two.run(use)
    assert [r.model_version for r in two.workers[0].requests[:2]] == ["1", "1"]
    assert two.workers[0].requests[-1].model_version == "2"
    assert two.workers[0].headers[-1]["authorization"] == "Bearer token-2"
    assert len(two.manager.asked) == 2


def test_a_manager_that_is_away_is_not_missed_while_the_token_lasts(two: FleetParts) -> None:
    async def use(client: AsyncFleetClient) -> list[Any]:
        await client.infer("twice", {"x": X})
        two.manager.refusal = (CODES.UNAVAILABLE, "away")
        answers = []
        for _ in range(6):
            two.clock.advance(40)
            answers.append((await client.infer("twice", {"x": X}))["y"].tolist())
        two.clock.advance(100)
        with pytest.raises(ModelUnavailable, match="away"):
            await client.infer("twice", {"x": X})
        return answers

    assert two.run(use) == [Y] * 6


def test_a_token_that_is_refused_is_replaced(two: FleetParts) -> None:
    def strict(request: Any, context: Any) -> bytes:
        if dict(context.invocation_metadata())["authorization"] == "Bearer token-1":
            context.abort(CODES.UNAUTHENTICATED, "the session token has expired")
        return answered(request, two.workers[0].models["twice"])

    two.workers[0].infer = strict
    assert two.infer() == [Y]
    assert two.counts == [2, 0]
    assert two.pauses.taken == []


def test_a_new_token_that_is_refused_too_is_an_error(two: FleetParts) -> None:
    for worker in two.workers:
        worker.infer = refusing(CODES.UNAUTHENTICATED, "not one of ours")
    with pytest.raises(Unauthenticated, match="not one of ours"):
        two.infer()
    assert len(two.manager.asked) == 3  # for workers, for a new token, for other workers


def test_a_model_a_worker_has_not_heard_of_yet_is_asked_for_again(two: FleetParts) -> None:
    def unknown_at_first(request: Any, context: Any) -> bytes:
        if sum(two.counts) < 7:
            context.abort(CODES.NOT_FOUND, "no model 'twice'")
        return answered(request, two.workers[0].models["twice"])

    for worker in two.workers:
        worker.infer = unknown_at_first
    assert two.infer() == [Y]
    assert two.pauses.taken == [0.025, 0.05]


def test_a_version_that_was_replaced_gives_way_to_the_new_one_at_once() -> None:
    with fleet(1) as parts:
        [worker] = parts.workers
        gone = {"1"}

        def known(request: Any, context: Any) -> bytes:
            if request.model_version in gone:
                context.abort(CODES.NOT_FOUND, "archived")
            return answered(request, worker.models["twice"])

        worker.infer = known
        parts.manager.version = "1"

        async def use(client: AsyncFleetClient) -> Any:
            gone.clear()
            await client.infer("twice", {"x": X})
            gone.add("1")
            parts.manager.version = "2"
            return (await client.infer("twice", {"x": X}))["y"].tolist()

        assert parts.run(use) == Y
        assert parts.pauses.taken == []
