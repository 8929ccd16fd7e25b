"""A worker's answer as JSON, as bytes, or as both.

Outputs that go back as bytes are never looked into; those in JSON become flat lists at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from inferflow._proto.pool import message_class
from inferflow.api.gateway.numbers import listed_floats
from inferflow.api.gateway.oip.asking import Inference
from inferflow.api.gateway.oip.body import Joined, join_body
from inferflow.client.oip.answer import read_all
from inferflow.client.oip.datatypes import BF16, BYTES, from_bytes, to_bytes
from inferflow.dtypes import Array
from inferflow.errors import InvalidInput, InvalidRequest, RemoteFailed

Message = Any

_Response = message_class("inference.ModelInferResponse")
_ONLY_BINARY = ("FP16", BF16)


def write_answer(body: bytes, asked: Inference) -> Joined:
    """Raises InvalidRequest when an output has no form in JSON and was not asked for as bytes."""
    answer = _Response.FromString(body)
    document: dict[str, Any] = {"model_name": answer.model_name}
    if answer.model_version:
        document["model_version"] = answer.model_version
    if answer.id:
        document["id"] = answer.id
    raws = _raw_outputs(answer, body)
    blobs: list[bytes] = []
    outputs: list[dict[str, Any]] = []
    for tensor, raw in zip(answer.outputs, raws, strict=True):
        output = {
            "name": tensor.name,
            "datatype": tensor.datatype,
            "shape": list(tensor.shape),
        }
        if asked.goes_binary(tensor.name):
            output["parameters"] = {"binary_data_size": len(raw)}
            blobs.append(raw)
        else:
            output["data"] = _listed(tensor, raw)
        outputs.append(output)
    document["outputs"] = outputs
    return join_body(document, blobs)


def _raw_outputs(answer: Message, body: bytes) -> list[bytes]:
    """Bytes of every output; a few servers send values one by one."""
    if answer.raw_output_contents or not answer.outputs:
        raws = list(answer.raw_output_contents)
    else:
        arrays = read_all(body)
        raws = [to_bytes(arrays[each.name], each.datatype) for each in answer.outputs]
    if len(raws) != len(answer.outputs):
        raise RemoteFailed("OK", f"{len(raws)} buffer(s) for {len(answer.outputs)} output(s)")
    return raws


def _listed(tensor: Message, raw: bytes) -> Any:
    if tensor.datatype in _ONLY_BINARY:
        raise InvalidRequest(
            f"outputs[{tensor.name!r}]",
            f"{tensor.datatype} has no form in JSON",
            "ask for it with the parameter binary_data",
        )
    try:
        values = from_bytes(raw, tensor.datatype, list(tensor.shape)).ravel()
    except InvalidInput as wrong:
        raise RemoteFailed("OK", f"output {tensor.name!r}: {wrong}") from wrong
    if tensor.datatype == BYTES:
        return _texts(values, tensor.name)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        return listed_floats(values)
    return np.ascontiguousarray(values)


def _texts(values: Array, name: str) -> list[str]:
    texts: list[str] = values.tolist()
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise InvalidRequest(
            f"outputs[{name!r}]",
            "has elements that are no text",
            "ask for it with the parameter binary_data",
        ) from None
    return texts
