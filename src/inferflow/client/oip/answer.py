"""A ModelInfer answer as arrays: matched by name, and every claim of it checked.

Servers answer with raw bytes or, a few, with values one by one. Either way an output must have
the name it was asked by, the type the model declares, and as many bytes as its shape takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.message import DecodeError

from inferflow._proto.pool import message_class
from inferflow.client.oip.datatypes import BF16, from_bytes, from_list
from inferflow.dtypes import Array
from inferflow.errors import InvalidInput

_Response = message_class("inference.ModelInferResponse")

LISTS: dict[str, str] = {
    "BOOL": "bool_contents",
    **dict.fromkeys(("INT8", "INT16", "INT32"), "int_contents"),
    "INT64": "int64_contents",
    **dict.fromkeys(("UINT8", "UINT16", "UINT32"), "uint_contents"),
    "UINT64": "uint64_contents",
    "FP32": "fp32_contents",
    "FP64": "fp64_contents",
    "BYTES": "bytes_contents",
}


def read_answer(
    body: bytes, outputs: Sequence[str], declared: Mapping[str, str]
) -> tuple[list[Array], str]:
    """The outputs in the order asked for, and the version that gave them. Raises InvalidInput.

    `declared` are the types the model says its outputs have, where it was asked.
    """
    answer, raw = _parsed(body)
    places = {tensor.name: at for at, tensor in enumerate(answer.outputs)}
    arrays = []
    for name in outputs:
        if name not in places:
            given = ", ".join(map(repr, places)) or "none"
            raise InvalidInput(f"the answer has no output {name!r}; it has {given}")
        at = places[name]
        arrays.append(_array(answer.outputs[at], raw[at] if raw else None, declared.get(name)))
    return arrays, answer.model_version


def read_all(body: bytes) -> dict[str, Array]:
    """Every output by its name. Raises InvalidInput."""
    answer, raw = _parsed(body)
    return {
        tensor.name: _array(tensor, raw[at] if raw else None, None)
        for at, tensor in enumerate(answer.outputs)
    }


def _parsed(body: bytes) -> tuple[Any, Sequence[bytes]]:
    try:
        answer = _Response.FromString(body)
    except DecodeError:
        raise InvalidInput("the answer is no ModelInferResponse") from None
    raw = answer.raw_output_contents
    if raw and len(raw) != len(answer.outputs):
        raise InvalidInput(f"{len(raw)} buffer(s) for {len(answer.outputs)} output(s)")
    return answer, raw


def _array(tensor: Any, raw: bytes | None, declared: str | None) -> Array:
    datatype, shape = tensor.datatype, list(tensor.shape)
    try:
        if declared is not None and datatype != declared:
            raise InvalidInput(f"it came as {datatype}, and the model declares {declared}")
        if raw is not None:
            return from_bytes(raw, datatype, shape)
        return from_list(_listed(tensor, datatype), datatype, shape)
    except InvalidInput as wrong:
        raise InvalidInput(f"output {tensor.name!r}: {wrong}") from wrong


def _listed(tensor: Any, datatype: str) -> Sequence[object]:
    if datatype in ("FP16", BF16):
        raise InvalidInput(f"{datatype} travels as raw bytes only")
    values: Sequence[object] = getattr(tensor.contents, LISTS.get(datatype, ""), ())
    return values
