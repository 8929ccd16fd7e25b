"""A ModelInfer request as tensors, checked against what the model takes.

Raw bytes become views, not copies. Whatever does not fit is refused with the input's name, before
the model sees any of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from inferflow._proto.pool import message_class
from inferflow.api.oip.contents import read_contents, read_raw
from inferflow.api.parsing import parse
from inferflow.client.oip.datatypes import BF16, DATATYPE_NAMES
from inferflow.dtypes import FP32, Array
from inferflow.errors import InvalidInput, InvalidRequest
from inferflow.plan.catalog import ModelSignature, TensorInfo

Message = Any
"""A protobuf message: its fields are known to protobuf only."""

_REQUEST = message_class("inference.ModelInferRequest")
_PATHS_NOT_TAKEN = ("shared_memory_region", "classification")


def parse_infer(body: bytes) -> Message:
    request = parse(_REQUEST, body)
    if not request.model_name:
        raise InvalidRequest("model_name", "is empty")
    return request


@dataclass(frozen=True, slots=True)
class Urgency:
    """What a request says about its own turn."""

    priority: int = 0
    timeout_s: float | None = None


NO_URGENCY = Urgency()


def urgency_of(request: Message) -> Urgency:
    """Priority and queue timeout. Raises InvalidRequest for parameters that ask for what there
    is not; ones that nobody knows are left alone."""
    parameters = request.parameters
    if not parameters:
        return NO_URGENCY
    sequence = parameters.get("sequence_id")
    if sequence is not None and (sequence.int64_param or sequence.string_param):
        raise InvalidRequest("parameters['sequence_id']", "models here keep no state")
    timeout_us = _number(parameters, "timeout")
    return Urgency(_number(parameters, "priority"), timeout_us / 1e6 if timeout_us else None)


class InputReader:
    """Reads the requests of one model."""

    def __init__(self, signature: ModelSignature) -> None:
        self._inputs = {info.name: info for info in signature.inputs}
        self._outputs = tuple(info.name for info in signature.outputs)
        self._label = f"{signature.model}@{signature.version}"

    def feed(self, request: Message) -> dict[str, Array]:
        """Every input in the model's order. Raises InvalidRequest."""
        given = request.inputs
        raw = request.raw_input_contents
        if raw and len(raw) != len(given):
            what = f"has {len(raw)} entries for {len(given)} inputs"
            raise InvalidRequest("raw_input_contents", what)
        read: dict[str, Array] = {}
        for at, tensor in enumerate(given):
            if tensor.name in read:
                raise InvalidRequest(f"inputs[{at}]", f"{tensor.name!r} is given twice")
            read[tensor.name] = self._read(tensor, raw[at] if raw else None, at)
        if len(read) != len(self._inputs):
            missing = ", ".join(repr(name) for name in self._inputs if name not in read)
            raise InvalidRequest("inputs", f"model {self._label!r} also takes {missing}")
        return {name: read[name] for name in self._inputs} if len(read) > 1 else read

    def outputs(self, request: Message) -> tuple[str, ...]:
        """The outputs asked for, in that order; all of them when none is named."""
        if not request.outputs:
            return self._outputs
        asked = tuple(output.name for output in request.outputs)
        for at, output in enumerate(request.outputs):
            if output.name not in self._outputs:
                what = f"model {self._label!r} gives {', '.join(self._outputs)}"
                raise InvalidRequest(f"outputs[{at}]", f"no output {output.name!r}", what)
            _refuse_paths_not_taken(f"outputs[{at}]", output.parameters)
        if len(set(asked)) != len(asked):
            raise InvalidRequest("outputs", "an output is asked for twice")
        return asked

    def _read(self, tensor: Message, raw: bytes | None, at: int) -> Array:
        place = f"input {tensor.name!r} of model {self._label!r}"
        info = self._inputs.get(tensor.name)
        if info is None:
            what = f"model {self._label!r} takes {', '.join(self._inputs)}"
            raise InvalidRequest(f"inputs[{at}]", f"no input {tensor.name!r}", what)
        shape = tuple(tensor.shape)
        _check_type(tensor, info, place)
        if not _fits(shape, info.shape):
            wanted = ", ".join("-1" if size is None else str(size) for size in info.shape)
            raise InvalidRequest(place, f"takes the shape [{wanted}], not {list(shape)}")
        has_contents = tensor.HasField("contents")
        if raw is not None and has_contents:
            raise InvalidRequest(place, "has contents although raw_input_contents is used")
        if raw is None and not has_contents and 0 not in shape:
            raise InvalidRequest(place, "has no data")
        try:
            if raw is not None:
                return read_raw(raw, tensor.datatype, shape)
            return read_contents(tensor.contents, tensor.datatype, shape)
        except InvalidInput as misfit:
            raise InvalidRequest(place, str(misfit)) from None


def _check_type(tensor: Message, info: TensorInfo, place: str) -> None:
    """BF16 is taken for FP32, which holds every value of it."""
    if tensor.datatype != DATATYPE_NAMES[info.dtype] and not (
        tensor.datatype == BF16 and info.dtype is FP32
    ):
        what = f"takes {DATATYPE_NAMES[info.dtype]}, not {tensor.datatype!r}"
        raise InvalidRequest(place, what)
    if tensor.parameters:
        _refuse_paths_not_taken(place, tensor.parameters)


def _fits(shape: tuple[int, ...], wanted: tuple[int | None, ...]) -> bool:
    return len(shape) == len(wanted) and all(
        want is None or want == size for want, size in zip(wanted, shape, strict=True)
    )


def _refuse_paths_not_taken(place: str, parameters: Message) -> None:
    for name in _PATHS_NOT_TAKEN:
        if name in parameters:
            raise InvalidRequest(place, f"the parameter {name!r} is not supported")


def _number(parameters: Message, name: str) -> int:
    value = parameters.get(name)
    if value is None:
        return 0
    number = value.int64_param or value.uint64_param
    if value.WhichOneof("parameter_choice") not in ("int64_param", "uint64_param") or number < 0:
        raise InvalidRequest(f"parameters[{name!r}]", "must be a whole number, not negative")
    return int(number)
