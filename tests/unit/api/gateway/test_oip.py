"""The Open Inference Protocol's REST form: JSON, binary tensors, and what is refused."""

from __future__ import annotations

import gzip
import json
import tracemalloc
import zlib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.api.gateway.oip.answering import write_answer
from inferflow.api.gateway.oip.asking import read_inference
from inferflow.api.gateway.oip.body import LENGTH, Split, split_body
from inferflow.client.oip.datatypes import BF16, BYTES, DATATYPES, from_bytes, to_bytes
from inferflow.errors import InvalidRequest

from .behind import EchoModels, InferResponse, asking

INFER = "/v2/models/echo/infer"
NUMBERS = sorted(set(DATATYPES) - {BYTES, BF16})


def tensor(datatype: str = "FP32", data: Any = (1, 2), **more: Any) -> dict[str, Any]:
    shape = more.pop("shape", [1, 2])
    return {"name": "x", "datatype": datatype, "shape": shape, "data": data, **more}


def binary(raw: bytes, datatype: str, shape: list[int], **document: Any) -> tuple[bytes, Any]:
    """A body with one tensor as bytes, and the header that says where they begin."""
    given = {
        "name": "x",
        "datatype": datatype,
        "shape": shape,
        "parameters": {"binary_data_size": len(raw)},
    }
    head = json.dumps({"inputs": [given], **document}).encode()
    return head + raw, {LENGTH: str(len(head))}


@pytest.mark.parametrize(
    ("datatype", "data", "told"),
    [
        ("FP32", [1, 2.5], [1.0, 2.5]),
        ("FP64", [[0.1, 3]], [0.1, 3.0]),
        ("INT8", [[-128, 127]], [-128, 127]),
        ("UINT64", [2**64 - 1, 1], [2**64 - 1, 1]),
        ("BOOL", [[True, False]], [True, False]),
        ("BYTES", [["ä", ""]], ["ä", ""]),
        ("BYTES", ["a\0", "\0"], ["a\0", "\0"]),
    ],
)
def test_a_tensor_in_json_comes_back_flat(datatype: str, data: Any, told: Any) -> None:
    with asking(models=EchoModels()) as client:
        answer = client.post(INFER, json={"id": "r1", "inputs": [tensor(datatype, data)]})
    assert answer.json() == {
        "model_name": "echo",
        "model_version": "1",
        "id": "r1",
        "outputs": [{"name": "x", "datatype": datatype, "shape": [1, 2], "data": told}],
    }


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"inputs": [tensor("FP32", [1])]}, "inputs[0].data"),
        ({"inputs": [tensor("FP32", [[1], [2, 3]])]}, "inputs[0].data"),
        ({"inputs": [tensor("FP32", ["a", "b"])]}, "inputs[0].data"),
        ({"inputs": [tensor("INT8", [1, 128])]}, "inputs[0].data"),
        ({"inputs": [tensor("INT8", [1, 1.5])]}, "inputs[0].data"),
        ({"inputs": [tensor("UINT8", [-1, 1])]}, "inputs[0].data"),
        ({"inputs": [tensor("BOOL", [1, 0])]}, "inputs[0].data"),
        ({"inputs": [tensor("BYTES", [1, 2])]}, "inputs[0].data"),
        ({"inputs": [tensor("BYTES", ["a", 2])]}, "inputs[0].data"),
        ({"inputs": [tensor("FP32", [1, 1e300])]}, "inputs[0].data"),
        ({"inputs": [tensor("FP32", [1, None])]}, "inputs[0].data"),
        ({"inputs": [tensor("FP32", [1, [2]])]}, "inputs[0].data"),
        ({"inputs": [tensor("FP32", [[1], 2])]}, "inputs[0].data"),
        ({"inputs": [tensor("INT32", [True, 2])]}, "inputs[0].data"),
        ({"inputs": [tensor("FP16", [1, 2])]}, "inputs[0].data"),
        ({"inputs": [tensor("FLOAT", [1, 2])]}, "inputs[0].datatype"),
        ({"inputs": [tensor(shape=[-1, 2])]}, "inputs[0].shape"),
        ({"inputs": [{"datatype": "FP32", "shape": [1], "data": [1]}]}, "inputs[0].name"),
        ({"inputs": [tensor(parameters={"a": []})]}, "inputs[0].parameters.a"),
        ({"inputs": {}}, "inputs"),
        ({}, "inputs"),
        ([], "body"),
        ({"inputs": [tensor()], "outputs": [{}]}, "outputs[0].name"),
    ],
)
def test_a_wrong_request_is_refused_with_its_place(given: Any, place: str) -> None:
    with asking(models=EchoModels()) as client:
        refused = client.post(INFER, json=given)
    assert refused.status_code == 400
    assert refused.json()["error"].startswith(f"{place}: ")


@pytest.mark.parametrize("wants", ["output", "request"])
@pytest.mark.parametrize("datatype", ["FP16", "FP32", "BF16", "BYTES"])
def test_binary_tensors_pass_through_untouched(datatype: str, wants: str) -> None:
    kind = "FP32" if datatype == "BF16" else datatype
    values = np.array([["a", "bc"]], dtype=object)
    if datatype != "BYTES":
        values = np.array([[0.5, 2]], DATATYPES[kind].numpy)
    raw = to_bytes(values, datatype)
    asked = (
        {"outputs": [{"name": "x", "parameters": {"binary_data": True}}]}
        if wants == "output"
        else {"parameters": {"binary_data_output": True}}
    )
    body, headers = binary(raw, datatype, [1, 2], **asked)
    with asking(models=EchoModels()) as client:
        answer = client.post(INFER, content=body, headers=headers)
    at = int(answer.headers[LENGTH])
    told = json.loads(answer.content[:at])
    assert answer.headers["content-type"] == "application/octet-stream"
    assert told["outputs"][0]["parameters"] == {"binary_data_size": len(raw)}
    assert answer.content[at:] == raw


def test_an_output_says_for_itself_whether_it_is_binary() -> None:
    output = {"name": "x", "parameters": {"binary_data": False}}
    document = {"inputs": [tensor()], "outputs": [output]}
    document["parameters"] = {"binary_data_output": True}  # type: ignore[assignment]
    with asking(models=EchoModels()) as client:
        answer = client.post(INFER, json=document)
    assert LENGTH not in answer.headers
    assert answer.json()["outputs"][0]["data"] == [1.0, 2.0]


def test_half_floats_have_no_form_in_json() -> None:
    body, headers = binary(bytes(4), "FP16", [1, 2])
    with asking(models=EchoModels()) as client:
        refused = client.post(INFER, content=body, headers=headers)
    assert refused.status_code == 400
    assert "binary_data" in refused.json()["error"]


def test_one_long_text_does_not_make_room_for_as_long_ones_everywhere() -> None:
    texts = ["x" * 1_000_000, *["y"] * 100_000]
    given = {"inputs": [tensor("BYTES", texts, shape=[len(texts)])]}
    tracemalloc.start()
    try:
        body = read_inference(Split(given, memoryview(b"")), "echo").body
        most = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert len(body) > 1_000_000
    assert most < 50_000_000


@pytest.mark.parametrize("length", ["9" * 5000, "-1", "3", "²"])
def test_a_length_that_cannot_be_is_refused(length: str) -> None:
    with pytest.raises(InvalidRequest, match=LENGTH):
        split_body(b"{}", length)


def test_too_few_and_too_many_bytes_are_refused() -> None:
    body, headers = binary(bytes(8), "FP32", [1, 2])
    with asking(models=EchoModels()) as client:
        few = client.post(INFER, content=body[:-1], headers=headers)
        many = client.post(INFER, content=body + b"!", headers=headers)
        no_length = client.post(INFER, content=body, headers={LENGTH: "-3"})
        too_long = client.post(INFER, content=body, headers={LENGTH: "99999"})
    assert [each.status_code for each in (few, many, no_length, too_long)] == [400] * 4
    assert "8 bytes, and 7 are left" in few.json()["error"]
    assert "1 bytes are left over" in many.json()["error"]


@pytest.mark.parametrize(
    ("shape", "datatype", "body", "wanted"),
    [
        ((-1, 2), "FP32", bytes(16), [2, 2]),
        ((-1, -1), "FP32", bytes(12), [1, 3]),
        ((4,), "FP16", bytes(8), [4]),
        ((-1,), "BYTES", b"hello", [1]),
    ],
)
def test_a_body_of_bytes_alone_is_the_only_input(
    shape: tuple[int, ...], datatype: str, body: bytes, wanted: list[int]
) -> None:
    models = EchoModels(shape=shape, datatype=datatype)
    with asking(models=models) as client:
        answer = client.post(INFER, content=body, headers={LENGTH: "0"})
    assert answer.status_code == 200
    told = json.loads(answer.content[: int(answer.headers[LENGTH])])
    assert told["outputs"][0]["shape"] == wanted
    assert answer.content.endswith(body)


@pytest.mark.parametrize("shape", [(-1, 2), (2, -1, -1)])
def test_bytes_that_do_not_tell_a_shape_are_refused(shape: tuple[int, ...]) -> None:
    with asking(models=EchoModels(shape=shape)) as client:
        refused = client.post(INFER, content=bytes(5), headers={LENGTH: "0"})
    assert refused.status_code == 400


@pytest.mark.parametrize(
    ("name", "undo"), [("gzip", gzip.decompress), ("deflate", zlib.decompress)]
)
def test_answers_are_compressed_for_those_who_want_it(name: str, undo: Any) -> None:
    with (
        asking(models=EchoModels()) as client,
        client.stream(
            "POST", INFER, json={"inputs": [tensor()]}, headers={"accept-encoding": name}
        ) as answer,
    ):
        raw = b"".join(answer.iter_raw())
    assert answer.headers["content-encoding"] == name
    assert json.loads(undo(raw))["model_name"] == "echo"


def test_versions_are_digits_and_are_passed_on() -> None:
    models = EchoModels()
    with asking(models=models) as client:
        client.post("/v2/models/echo/versions/3/infer", json={"inputs": [tensor()]})
        refused = client.get("/v2/models/echo/versions/three")
    assert models.asked[0][1] == "3"
    assert refused.status_code == 400


def test_health_has_a_status_and_a_body() -> None:
    with asking(models=EchoModels()) as client:
        live, ready = client.get("/v2/health/live"), client.get("/v2/health/ready")
        model, other = client.get("/v2/models/echo/ready"), client.get("/v2/models/no/ready")
    assert (live.status_code, live.json()) == (200, {"live": True})
    assert (ready.status_code, ready.json()) == (200, {"ready": True})
    assert (model.status_code, model.json()) == (200, {"name": "echo", "ready": True})
    assert (other.status_code, other.json()) == (400, {"name": "no", "ready": False})


def test_an_unknown_model_is_not_found() -> None:
    with asking(models=EchoModels()) as client:
        refused = client.post("/v2/models/nobody/infer", json={"inputs": [tensor()]})
    assert (refused.status_code, refused.json()) == (404, {"error": "no model 'nobody'"})


def test_the_repository_is_asked_with_what_the_body_says() -> None:
    models = EchoModels()
    with asking(models=models) as client:
        assert client.post("/v2/repository/index").json() == []
        client.post("/v2/repository/index", json={"ready": True})
        client.post("/v2/repository/models/echo/load", json={})
        unload = {"parameters": {"unload_dependents": False}}
        client.post("/v2/repository/models/echo/unload", json=unload)
        refused = client.post(
            "/v2/repository/models/echo/load", json={"parameters": {"config": "{}"}}
        )
    methods = [method for method, *_ in models.asked]
    assert methods == ["RepositoryIndex"] * 2 + ["RepositoryModelLoad", "RepositoryModelUnload"]
    assert [models.asked[at][1].ready for at in (0, 1)] == [False, True]
    assert refused.status_code == 400


@given(st.data())
def test_a_tensor_is_the_same_as_json_and_as_bytes(data: st.DataObject) -> None:
    datatype = data.draw(st.sampled_from([name for name in NUMBERS if name != "FP16"]))
    kind = DATATYPES[datatype].numpy
    shape = data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3))
    count = int(np.prod(shape))
    values = np.frombuffer(data.draw(st.binary(min_size=count * 8, max_size=count * 8)), np.uint8)
    array = (values.reshape(count, 8)[:, 0] % 2 if kind.kind == "b" else values[::8]).astype(kind)
    array = array.reshape(shape)
    as_json = json.dumps({"inputs": [tensor(datatype, array.tolist(), shape=shape)]}).encode()
    as_bytes, headers = binary(to_bytes(array, datatype), datatype, shape)
    one = read_inference(split_body(as_json, None), "m").message
    other = read_inference(split_body(as_bytes, headers[LENGTH]), "m").message
    assert one == other
    answer = InferResponse(model_name="m", raw_output_contents=one.raw_input_contents)
    answer.outputs.add(name="x", datatype=datatype, shape=shape)
    asked = read_inference(split_body(as_json, None), "m")
    told = json.loads(write_answer(answer.SerializeToString(), asked).body)["outputs"][0]
    flat = from_bytes(to_bytes(np.array(told["data"], kind), datatype), datatype, shape)
    assert np.array_equal(flat, array)
