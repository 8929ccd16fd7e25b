"""Models on other hosts: what they say they take, what they answer, and their connections."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Iterator
from typing import Any

import grpc
import numpy as np
import pytest

from inferflow.client.oip.runner import RemoteModels
from inferflow.engine.deadline import Deadline
from inferflow.errors import ModelFailed, Unreachable
from inferflow.plan.catalog import ModelSignature, UnknownSignature

from ....servers.open_inference import Model, OipServer, serving
from .remote_parts import X, answering, endpoint, ran, remote, twice


@pytest.fixture
def server() -> Iterator[OipServer]:
    with serving(twice()) as running:
        yield running


# --- answers ------------------------------------------------------------------------------------


def test_a_model_elsewhere_is_run_with_who_calls_its_name_and_its_outputs(
    server: OipServer,
) -> None:
    models = remote()
    where = endpoint(server.address, version="1")
    assert ran(models, where).tolist() == [[2.0], [5.0]]
    [sent] = server.requests
    assert (sent.model_name, sent.model_version) == ("twice", "1")
    assert [output.name for output in sent.outputs] == ["y"]
    assert server.headers[0]["predator-caller-id"] == "test"


def test_the_version_that_answered_is_known_afterwards(server: OipServer) -> None:
    server.models["twice"].version = "9"
    prepared = remote().prepare(endpoint(server.address), ("x",), ("y",))
    assert prepared.version == "1"

    async def once() -> None:
        await prepared.run([X], deadline=Deadline(5_000))

    asyncio.run(once())
    assert prepared.version == "9"


def test_a_signature_is_what_the_server_says(server: OipServer) -> None:
    server.models["mixed"] = Model(
        inputs=[("a", "BYTES", [-1]), ("b", "BF16", [-1, 3])],
        outputs=[("c", "INT64", [-1]), ("d", "BF16", [-1, 1])],
        run=lambda a, b: {"c": [len(text) for text in a], "d": b[:, :1]},
        versions=("2", "10", "9"),
    )
    models, where = remote(), endpoint(server.address, "mixed")
    signature = models.signature(where)
    assert isinstance(signature, ModelSignature)
    assert signature.version == "10"
    described = [(t.name, t.dtype.name, t.shape) for t in (*signature.inputs, *signature.outputs)]
    assert described == [
        ("a", "String", (None,)),
        ("b", "FP32", (None, 3)),
        ("c", "Int64", (None,)),
        ("d", "FP32", (None, 1)),
    ]
    prepared = models.prepare(where, ("a", "b"), ("c", "d"))

    async def once() -> Any:
        texts = np.array(["x", "yy"], object)
        numbers = np.array([[1, 2, 3], [1.0000001, 0, 0]], np.float32)
        return await prepared.run([texts, numbers], deadline=Deadline(5_000))

    c, d = asyncio.run(once())
    assert (c.tolist(), d.tolist(), d.dtype) == ([1, 2], [[1.0], [1.0]], np.float32)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (grpc.StatusCode.UNIMPLEMENTED, "answered UNIMPLEMENTED"),
        (grpc.StatusCode.UNAUTHENTICATED, "answered UNAUTHENTICATED"),
        (grpc.StatusCode.UNAVAILABLE, "does not answer"),
    ],
)
def test_a_server_that_does_not_tell_what_a_model_takes_leaves_it_unknown(
    server: OipServer, code: grpc.StatusCode, said: str
) -> None:
    server.metadata_code = code
    found = remote().signature(endpoint(server.address))
    assert isinstance(found, UnknownSignature)
    assert found.why == f"{server.address} {said}"


def test_a_model_that_names_no_tensors_is_unknown_and_one_that_is_not_there_is_none(
    server: OipServer,
) -> None:
    server.models["mute"] = Model([], [], run=dict)
    mute = remote().signature(endpoint(server.address, "mute"))
    assert isinstance(mute, UnknownSignature)
    assert "does not say which tensors" in mute.why
    assert remote().signature(endpoint(server.address, "nobody")) is None


def test_a_type_the_protocol_has_not_leaves_a_model_unknown(server: OipServer) -> None:
    server.models["odd"] = Model([("x", "FP8", [-1])], [("y", "FP32", [-1])], run=dict)
    found = remote().signature(endpoint(server.address, "odd"))
    assert isinstance(found, UnknownSignature)
    assert "'FP8', which is no type of the protocol" in found.why


# --- answers that are wrong ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("infer", "what"),
    [
        (answering("INT64", [[1], [2]]), "output 'y': it came as INT64, and the model declares"),
        (answering("FP32", [[1.0], [2.0]], "z"), "no output 'y'; it has 'z'"),
        (lambda _, __: b"\xff\xff\xff", "no ModelInferResponse"),
        (lambda _, __: b"", "no output 'y'; it has none"),
    ],
)
def test_a_wrong_answer_fails_the_call_and_names_the_model_and_the_server(
    server: OipServer, infer: Any, what: str
) -> None:
    server.infer = infer
    with pytest.raises(ModelFailed, match=what) as failed:
        ran(remote(), endpoint(server.address))
    assert "'twice'" in str(failed.value)
    assert server.address in str(failed.value)


def test_without_a_signature_another_numeric_type_is_taken_as_it_is(server: OipServer) -> None:
    server.metadata_code = grpc.StatusCode.UNIMPLEMENTED
    server.infer = answering("FP64", [[0.1], [0.2]])
    assert ran(remote(), endpoint(server.address)).dtype == np.float64


# --- connections --------------------------------------------------------------------------------


def test_a_connection_lives_as_long_as_something_prepared_for_its_server(
    server: OipServer,
) -> None:
    models = remote()
    first = models.prepare(endpoint(server.address), ("x",), ("y",))
    second = models.prepare(endpoint(server.address, version="1"), ("x",), ("y",))

    async def test() -> None:
        nonlocal first, second
        await first.run([X], deadline=Deadline(5_000))
        [line] = models._lines.values()
        [opened] = line._open.values()
        channel = weakref.ref(opened.channel)
        del first, opened, line
        gc.collect()
        assert channel() is not None
        await second.run([X], deadline=Deadline(5_000))
        del second
        gc.collect()
        assert channel() is None
        assert len(models._lines) == 0

    asyncio.run(test())


def test_each_event_loop_has_a_connection_of_its_own(server: OipServer) -> None:
    models = remote()
    prepared = models.prepare(endpoint(server.address), ("x",), ("y",))

    async def once() -> None:
        await prepared.run([X], deadline=Deadline(5_000))

    asyncio.run(once())
    asyncio.run(once())
    [line] = models._lines.values()
    assert len(line._open) == 1
    models.close()
    asyncio.run(once())


def test_a_server_that_comes_back_is_found_again() -> None:
    with serving(twice()) as server:
        port, where = server.port, endpoint(server.address)
        models = RemoteModels()
        prepared = models.prepare(where, ("x",), ("y",))

    async def test() -> None:
        with pytest.raises(Unreachable):
            await prepared.run([X], deadline=Deadline(5_000))
        with serving(twice(), port=port):
            for _ in range(10_000):
                try:
                    [y] = await prepared.run([X], deadline=Deadline(5_000))
                except Unreachable:
                    continue
                assert y.tolist() == [[2.0], [5.0]]
                return
            raise AssertionError("it was not found again")

    asyncio.run(test())
