"""An inference request as the message a worker takes.

Binary tensors pass through as they are; those in JSON become arrays as a whole. What the model
takes is for the worker to check: here only the request itself must make sense.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import chain
from math import prod
from typing import Any

import numpy as np

from inferflow._proto.pool import message_class
from inferflow.api.gateway.oip.body import Split
from inferflow.client.oip.datatypes import BF16, BYTES, DATATYPES, to_bytes
from inferflow.errors import InvalidRequest

Message = Any

_Request = message_class("inference.ModelInferRequest")
_ONLY_BINARY = ("FP16", BF16)
_SIZE, _WANTS_BINARY, _ALL_BINARY = "binary_data_size", "binary_data", "binary_data_output"
_WHOLE = frozenset({int})
_REAL = frozenset({int, float})
_TYPES = {"BOOL": frozenset({bool}), BYTES: frozenset({str}), "FP32": _REAL, "FP64": _REAL}
"""What values of a datatype are in JSON; whole numbers for all others."""


@dataclass(frozen=True, slots=True)
class Inference:
    message: Message
    binary: Mapping[str, bool]
    """Outputs that were named, and whether each goes back as bytes."""
    is_binary: bool
    """Whether those that were not named do."""

    @property
    def body(self) -> bytes:
        written: bytes = self.message.SerializeToString()
        return written

    def goes_binary(self, output: str) -> bool:
        return self.binary.get(output, self.is_binary)


def read_inference(split: Split, model: str) -> Inference:
    """Raises InvalidRequest naming the place."""
    document = _object(split.document, "body")
    message = _Request(model_name=model, id=_text(document.get("id", ""), "id"))
    parameters = dict(_object(document.get("parameters", {}), "parameters"))
    is_binary = bool(parameters.pop(_ALL_BINARY, False))
    _fill_parameters(message.parameters, parameters, "parameters")
    _read_inputs(message, _list(document.get("inputs"), "inputs"), split.blobs)
    binary = _read_outputs(message, _list(document.get("outputs", []), "outputs"), is_binary)
    return Inference(message, binary, is_binary)


def bare_tensor(split: Split, model: str, metadata: Message) -> Inference:
    """A request that is the bytes of the model's only input. Raises InvalidRequest."""
    if len(metadata.inputs) != 1:
        names = ", ".join(each.name for each in metadata.inputs)
        what = f"a body of bytes alone is for models with one input; {model!r} takes {names}"
        raise InvalidRequest("body", what)
    info, raw = metadata.inputs[0], bytes(split.blobs)
    shape = list(info.shape)
    if info.datatype == BYTES:
        shape, raw = [1] * len(shape), len(raw).to_bytes(4, "little") + raw
    else:
        shape = _inferred(shape, info.datatype, len(raw), model)
    message = _Request(model_name=model)
    message.inputs.add(name=info.name, datatype=info.datatype, shape=shape)
    message.raw_input_contents.append(raw)
    return Inference(message, {}, is_binary=True)


def _inferred(shape: list[int], datatype: str, size: int, model: str) -> list[int]:
    """The one open dimension from the number of bytes; a batch, where there is another, is one."""
    if shape.count(-1) > 1 and shape[0] == -1:
        shape = [1, *shape[1:]]
    if shape.count(-1) > 1:
        raise InvalidRequest("body", f"{model!r} takes a shape {shape} that bytes do not tell")
    if -1 in shape:
        row = prod(each for each in shape if each != -1) * _width(datatype)
        if not row or size % row:
            raise InvalidRequest("body", f"{size} bytes do not make the shape {shape}")
        shape = [size // row if each == -1 else each for each in shape]
    return shape


def _width(datatype: str) -> int:
    return 2 if datatype == BF16 else DATATYPES[datatype].numpy.itemsize


# --- inputs and outputs ---------------------------------------------------------------------


def _read_inputs(message: Message, inputs: list[Any], blobs: memoryview) -> None:
    at = 0
    for index, given in enumerate(inputs):
        place = f"inputs[{index}]"
        tensor = _object(given, place)
        datatype, shape = _datatype(tensor, place), _shape(tensor, place)
        added = message.inputs.add(
            name=_text(tensor.get("name"), f"{place}.name"), datatype=datatype, shape=shape
        )
        parameters = dict(_object(tensor.get("parameters", {}), f"{place}.parameters"))
        size = parameters.pop(_SIZE, None)
        _fill_parameters(added.parameters, parameters, f"{place}.parameters")
        if size is None:
            raw = _from_json(tensor, datatype, shape, place)
        else:
            raw = _cut(blobs, at, size, tensor, place)
            at += len(raw)
        message.raw_input_contents.append(raw)
    if at != len(blobs):
        raise InvalidRequest("body", f"{len(blobs) - at} bytes are left over after the last input")


def _cut(blobs: memoryview, at: int, size: Any, tensor: Mapping[str, Any], place: str) -> bytes:
    where = f"{place}.parameters.{_SIZE}"
    if isinstance(size, bool) or not isinstance(size, int) or size < 0:
        raise InvalidRequest(where, f"{size!r} is no number of bytes")
    if "data" in tensor:
        raise InvalidRequest(f"{place}.data", f"is given, and {_SIZE} too")
    if at + size > len(blobs):
        raise InvalidRequest(where, f"{size} bytes, and {len(blobs) - at} are left")
    return bytes(blobs[at : at + size])


def _from_json(tensor: Mapping[str, Any], datatype: str, shape: list[int], place: str) -> bytes:
    where = f"{place}.data"
    if "data" not in tensor:
        raise InvalidRequest(where, "is missing")
    if datatype in _ONLY_BINARY:
        raise InvalidRequest(where, f"{datatype} has no form in JSON", f"send it with {_SIZE}")
    values = _flat(tensor["data"], where)
    if len(values) != prod(shape):
        raise InvalidRequest(where, f"has {len(values)} value(s), and {shape} takes {prod(shape)}")
    if not _TYPES.get(datatype, _WHOLE).issuperset(map(type, values)):
        raise InvalidRequest(where, f"has values that are no {datatype}")
    try:
        with np.errstate(over="raise"):
            array = np.array(values, object if datatype == BYTES else DATATYPES[datatype].numpy)
    except ArithmeticError:
        raise InvalidRequest(where, f"a value is out of range for {datatype}") from None
    return to_bytes(array, datatype)


def _flat(data: Any, where: str) -> list[Any]:
    """The values of lists within lists, in their order."""
    values: list[Any] = data if isinstance(data, list) else [data]
    while values and isinstance(values[0], list):
        if set(map(type, values)) != {list} or len(set(map(len, values))) != 1:
            raise InvalidRequest(where, "lists within it have different lengths")
        values = list(chain.from_iterable(values))
    return values


def _read_outputs(message: Message, outputs: list[Any], is_binary: bool) -> dict[str, bool]:
    binary: dict[str, bool] = {}
    for index, given in enumerate(outputs):
        place = f"outputs[{index}]"
        output = _object(given, place)
        name = _text(output.get("name"), f"{place}.name")
        parameters = dict(_object(output.get("parameters", {}), f"{place}.parameters"))
        binary[name] = bool(parameters.pop(_WANTS_BINARY, is_binary))
        added = message.outputs.add(name=name)
        _fill_parameters(added.parameters, parameters, f"{place}.parameters")
    return binary


# --- small parts ----------------------------------------------------------------------------


def _fill_parameters(into: Message, given: Mapping[str, Any], place: str) -> None:
    for name, value in given.items():
        if isinstance(value, bool):
            into[name].bool_param = value
        elif isinstance(value, int) and -(2**63) <= value < 2**63:
            into[name].int64_param = value
        elif isinstance(value, float):
            into[name].double_param = value
        elif isinstance(value, str):
            into[name].string_param = value
        else:
            raise InvalidRequest(f"{place}.{name}", "a number, a text or a truth value is wanted")


def _datatype(tensor: Mapping[str, Any], place: str) -> str:
    datatype = tensor.get("datatype")
    if not isinstance(datatype, str) or datatype not in DATATYPES:
        known = ", ".join(DATATYPES)
        raise InvalidRequest(f"{place}.datatype", f"{datatype!r} is none of {known}")
    return datatype


def _shape(tensor: Mapping[str, Any], place: str) -> list[int]:
    shape = tensor.get("shape")
    if not isinstance(shape, list) or not all(_is_size(each) for each in shape):
        raise InvalidRequest(f"{place}.shape", "a list of numbers from 0 on is wanted")
    return shape


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**31


def _object(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise InvalidRequest(place, "an object is wanted")
    return value


def _list(value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidRequest(place, "a list is wanted")
    return value


def _text(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise InvalidRequest(place, "text is wanted")
    return value
