"""ModelInfer: tensors in, tensors out, and everything that is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto

from .worker import (
    Request,
    answered,
    floats,
    identity,
    put,
    request,
    run,
    serving,
    subtract,
)

KINDS: dict[str, tuple[int, np.dtype[Any]]] = {
    "BOOL": (TensorProto.BOOL, np.dtype(np.bool_)),
    "UINT8": (TensorProto.UINT8, np.dtype("<u1")),
    "UINT16": (TensorProto.UINT16, np.dtype("<u2")),
    "UINT32": (TensorProto.UINT32, np.dtype("<u4")),
    "UINT64": (TensorProto.UINT64, np.dtype("<u8")),
    "INT8": (TensorProto.INT8, np.dtype("<i1")),
    "INT16": (TensorProto.INT16, np.dtype("<i2")),
    "INT32": (TensorProto.INT32, np.dtype("<i4")),
    "INT64": (TensorProto.INT64, np.dtype("<i8")),
    "FP16": (TensorProto.FLOAT16, np.dtype("<f2")),
    "FP32": (TensorProto.FLOAT, np.dtype("<f4")),
    "FP64": (TensorProto.DOUBLE, np.dtype("<f8")),
}
LISTS = {
    "BOOL": "bool_contents",
    "UINT8": "uint_contents",
    "UINT16": "uint_contents",
    "UINT32": "uint_contents",
    "UINT64": "uint64_contents",
    "INT8": "int_contents",
    "INT16": "int_contents",
    "INT32": "int_contents",
    "INT64": "int64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
}


def extremes(kind: np.dtype[Any]) -> Any:
    if kind.kind == "b":
        return np.array([[True, False]])
    if kind.kind == "f":
        return np.array([[np.finfo(kind).max, -0.0], [np.nan, np.inf]], kind)
    limits = np.iinfo(kind)
    return np.array([[limits.min, limits.max]], kind)


@pytest.mark.parametrize("datatype", KINDS)
def test_every_type_comes_back_bit_for_bit_as_raw_bytes(tmp_path: Path, datatype: str) -> None:
    kind, dtype = KINDS[datatype]
    values = extremes(dtype)
    put(tmp_path, "m", identity(kind, ["N", 2]))

    async def main() -> None:
        async with serving(tmp_path) as call:
            asked = request(x=(datatype, values.shape, values.tobytes()))
            answer = await call("ModelInfer", asked)
            (output,) = answer.outputs
            assert (output.name, output.datatype) == ("y", datatype)
            assert list(output.shape) == list(values.shape)
            assert list(answer.raw_output_contents) == [values.tobytes()]

    run(main())


@pytest.mark.parametrize("datatype", LISTS)
def test_every_type_may_come_value_by_value(tmp_path: Path, datatype: str) -> None:
    kind, dtype = KINDS[datatype]
    values = extremes(dtype)
    put(tmp_path, "m", identity(kind, ["N", 2]))

    async def main() -> None:
        async with serving(tmp_path) as call:
            asked = request(x=(datatype, values.shape, b""), raw=False)
            getattr(asked.inputs[0].contents, LISTS[datatype]).extend(values.ravel().tolist())
            answer = await call("ModelInfer", asked)
            got = np.frombuffer(answer.raw_output_contents[0], dtype).reshape(values.shape)
            np.testing.assert_array_equal(got, values)

    run(main())


def test_texts_travel_with_their_lengths(tmp_path: Path) -> None:
    put(tmp_path, "m", identity(TensorProto.STRING))
    texts = ["", "grün", "a\0b"]
    raw = b"".join(len(each.encode()).to_bytes(4, "little") + each.encode() for each in texts)

    async def main() -> None:
        async with serving(tmp_path) as call:
            answer = await call("ModelInfer", request(x=("BYTES", [3], raw)))
            assert list(answer.raw_output_contents) == [raw]
            listed = request(x=("BYTES", [3], b""), raw=False)
            listed.inputs[0].contents.bytes_contents.extend(each.encode() for each in texts)
            answer = await call("ModelInfer", listed)
            assert list(answer.raw_output_contents) == [raw]
            cut = request(x=("BYTES", [3], raw[:-1]))
            assert (await call.refused("ModelInfer", cut))[0] == "INVALID_ARGUMENT"
            not_text = request(x=("BYTES", [1], b"\x01\0\0\0\xff"))
            code, text = await call.refused("ModelInfer", not_text)
            assert code == "INVALID_ARGUMENT"
            assert "not UTF-8" in text

    run(main())


def test_bf16_is_taken_where_the_model_takes_fp32(tmp_path: Path) -> None:
    put(tmp_path, "m", identity(TensorProto.FLOAT))
    narrow = np.array([1.5, -2.25, np.inf], ml_dtypes.bfloat16)

    async def main() -> None:
        async with serving(tmp_path) as call:
            answer = await call("ModelInfer", request(x=("BF16", [3], narrow.tobytes())))
            assert answered(answer) == {"y": [1.5, -2.25, np.inf]}
            listed = request(x=("BF16", [3], b""), raw=False)
            listed.inputs[0].contents.fp32_contents.extend([1, 2, 3])
            code, text = await call.refused("ModelInfer", listed)
            assert code == "INVALID_ARGUMENT"
            assert "raw bytes" in text

    run(main())


def test_inputs_go_by_name_and_outputs_come_as_asked_for(tmp_path: Path) -> None:
    put(tmp_path, "m", subtract())

    async def main() -> None:
        async with serving(tmp_path) as call:
            asked = request(b=floats(1, 2), a=floats(10, 20))
            asked.id = "some id"
            answer = await call("ModelInfer", asked)
            assert answered(answer) == {"c": [9, 18], "d": [-9, -18]}
            assert (answer.model_name, answer.model_version, answer.id) == ("m", "1", "some id")
            for name in ("d", "c"):
                asked.outputs.add(name=name)
            answer = await call("ModelInfer", asked)
            assert [each.name for each in answer.outputs] == ["d", "c"]

    run(main())


def test_no_rows_are_an_answer_too(tmp_path: Path) -> None:
    put(tmp_path, "m", identity(TensorProto.FLOAT))

    async def main() -> None:
        async with serving(tmp_path) as call:
            for raw in (True, False):
                answer = await call("ModelInfer", request(x=("FP32", [0], b""), raw=raw))
                assert list(answer.outputs[0].shape) == [0]

    run(main())


def broken(what: str) -> Any:
    """A request for `subtract` with one thing wrong."""
    asked = request(a=floats(1, 2), b=floats(3, 4))
    first = asked.inputs[0]
    if what == "unknown input":
        first.name = "z"
    elif what == "input twice":
        first.name = "b"
    elif what == "input missing":
        asked = request(a=floats(1, 2))
    elif what == "wrong type":
        first.datatype = "FP64"
    elif what == "unknown type":
        first.datatype = "FLOAT"
    elif what == "wrong rank":
        first.shape.append(1)
    elif what == "negative size":
        first.shape[0] = -1
    elif what == "too few bytes":
        asked.raw_input_contents[0] = b"\0" * 7
    elif what == "too many bytes":
        asked.raw_input_contents[0] = b"\0" * 12
    elif what == "fewer raw entries than inputs":
        del asked.raw_input_contents[1]
    elif what == "contents beside raw":
        first.contents.fp32_contents.extend([1, 2])
    elif what == "no data":
        del asked.raw_input_contents[:]
    elif what == "unknown output":
        asked.outputs.add(name="z")
    elif what == "output twice":
        asked.outputs.add(name="c")
        asked.outputs.add(name="c")
    elif what == "shared memory":
        first.parameters["shared_memory_region"].string_param = "r"
    elif what == "classification":
        asked.outputs.add(name="c").parameters["classification"].int64_param = 1
    elif what == "sequence":
        asked.parameters["sequence_id"].int64_param = 7
    elif what == "priority that is no number":
        asked.parameters["priority"].string_param = "high"
    return asked


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("unknown input", "no input 'z'"),
        ("input twice", "'b' is given twice"),
        ("input missing", "also takes 'b'"),
        ("wrong type", "input 'a' of model 'm@1': takes FP32, not 'FP64'"),
        ("unknown type", "takes FP32, not 'FLOAT'"),
        ("wrong rank", "takes the shape [-1], not [2, 1]"),
        ("negative size", "no shape"),
        ("too few bytes", "7 bytes where FP32 [2] takes 8"),
        ("too many bytes", "12 bytes"),
        ("fewer raw entries than inputs", "1 entries for 2 inputs"),
        ("contents beside raw", "input 'a' of model 'm@1': has contents although"),
        ("no data", "input 'a' of model 'm@1': has no data"),
        ("unknown output", "no output 'z'"),
        ("output twice", "asked for twice"),
        ("shared memory", "'shared_memory_region' is not supported"),
        ("classification", "'classification' is not supported"),
        ("sequence", "keep no state"),
        ("priority that is no number", "whole number"),
    ],
)
def test_a_request_that_does_not_fit_is_the_callers_fault_and_says_where(
    tmp_path: Path, what: str, text: str
) -> None:
    put(tmp_path, "m", subtract())

    async def main() -> None:
        async with serving(tmp_path) as call:
            asked = broken(what)
            code, details = await call.refused("ModelInfer", asked)
            assert code == "INVALID_ARGUMENT"
            assert text in details
            asked.id = "r7"
            assert (await call.refused("ModelInfer", asked))[1] == f"[request id: r7] {details}"

    run(main())


@pytest.mark.parametrize(
    ("datatype", "kind", "field", "values", "text"),
    [
        ("INT32", TensorProto.INT32, "int64_contents", [1], "belong in int_contents"),
        ("INT8", TensorProto.INT8, "int_contents", [128], "out of range"),
        ("UINT16", TensorProto.UINT16, "uint_contents", [65536], "out of range"),
        ("FP32", TensorProto.FLOAT, "fp32_contents", [1, 2], "2 value(s)"),
        ("FP16", TensorProto.FLOAT16, "fp32_contents", [1], "raw bytes"),
    ],
)
def test_values_one_by_one_must_be_in_the_right_list_and_range(
    tmp_path: Path, datatype: str, kind: int, field: str, values: list[int], text: str
) -> None:
    put(tmp_path, "m", identity(kind))

    async def main() -> None:
        async with serving(tmp_path) as call:
            asked = request(x=(datatype, [1], b""), raw=False)
            getattr(asked.inputs[0].contents, field).extend(values)
            code, details = await call.refused("ModelInfer", asked)
            assert code == "INVALID_ARGUMENT"
            assert text in details

    run(main())


def test_bytes_that_are_no_request_are_the_callers_fault(tmp_path: Path) -> None:
    async def main() -> None:
        async with serving(tmp_path) as call:
            for method in ("ModelInfer", "ModelReady", "RepositoryModelLoad"):
                code, _ = await call.refused(method, b"\xff\xff")
                assert code == "INVALID_ARGUMENT"
            code, text = await call.refused("ModelInfer", Request())
            assert (code, text) == ("INVALID_ARGUMENT", "model_name: is empty")

    run(main())


def test_an_unknown_model_or_version_is_not_found(tmp_path: Path) -> None:
    put(tmp_path, "m", subtract())

    async def main() -> None:
        async with serving(tmp_path) as call:
            asked = request("nobody", a=floats(1))
            assert (await call.refused("ModelInfer", asked))[0] == "NOT_FOUND"
            asked = request("m", a=floats(1), b=floats(1))
            asked.model_version = "2"
            assert (await call.refused("ModelInfer", asked))[0] == "NOT_FOUND"
            asked.model_version = "../1"
            assert (await call.refused("ModelInfer", asked))[0] == "NOT_FOUND"

    run(main())
