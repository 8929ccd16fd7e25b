"""What a model on another host says it takes and gives.

Asked by a thread that may wait, when a config is loaded, and never by a request.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import grpc
from google.protobuf.message import DecodeError

from inferflow._proto.pool import message_class
from inferflow.client.oip.datatypes import BF16, DATATYPES
from inferflow.client.oip.line import Headers
from inferflow.errors import InvalidInput
from inferflow.plan.catalog import Endpoint, ModelSignature, TensorInfo, UnknownSignature
from inferflow.rpc.channel import open_blocking_channel
from inferflow.rpc.options import ChannelOptions
from inferflow.rpc.tls_channel import ChannelTls

METADATA = "/inference.GRPCInferenceService/ModelMetadata"

_Request = message_class("inference.ModelMetadataRequest")
_Response = message_class("inference.ModelMetadataResponse")


@dataclass(frozen=True, slots=True)
class RemoteSignature:
    """A signature, and the protocol's own names of its types."""

    signature: ModelSignature
    inputs: dict[str, str]
    outputs: dict[str, str]

    @property
    def bf16_inputs(self) -> frozenset[str]:
        return frozenset(name for name, datatype in self.inputs.items() if datatype == BF16)


Known = RemoteSignature | UnknownSignature | None
"""None: the server answered that it has no such model."""


def ask_signature(
    endpoint: Endpoint,
    *,
    timeout_s: float,
    headers: Headers = (),
    tls: ChannelTls | None = None,
) -> Known:
    """Ask the server for a model's metadata, for as long as `timeout_s` at most."""
    assert endpoint.address is not None
    asked = _Request(name=endpoint.model, version=endpoint.version or "")
    try:
        options = ChannelOptions(attempts=1, tls=tls)
        with open_blocking_channel(endpoint.address, options) as channel:
            body: bytes = channel.unary_unary(METADATA)(
                asked.SerializeToString(), timeout=timeout_s, metadata=headers
            )
        return read_signature(body, endpoint)
    except grpc.RpcError as refused:
        return _refusal(refused, endpoint)
    except InvalidInput as wrong:
        return UnknownSignature(f"{endpoint.address}: {wrong}")


def _refusal(refused: Any, endpoint: Endpoint) -> UnknownSignature | None:
    code = refused.code()
    if code is grpc.StatusCode.NOT_FOUND:
        return None
    if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED):
        return UnknownSignature(f"{endpoint.address} does not answer", is_silent=True)
    return UnknownSignature(f"{endpoint.address} answered {code.name}")


def read_signature(body: bytes, endpoint: Endpoint) -> RemoteSignature | UnknownSignature:
    """The signature of an answer. Raises InvalidInput."""
    try:
        answer = _Response.FromString(body)
    except DecodeError:
        raise InvalidInput("the answer is no ModelMetadataResponse") from None
    if not answer.inputs or not answer.outputs:
        return UnknownSignature(f"{endpoint.address} does not say which tensors it takes and gives")
    signature = ModelSignature(
        endpoint.model,
        # A fleet says which version it chose, where an endpoint names a stage or none.
        (not endpoint.managers and endpoint.version) or _highest(answer.versions),
        tuple(map(_tensor, answer.inputs)),
        tuple(map(_tensor, answer.outputs)),
        hashlib.blake2b(answer.SerializeToString(deterministic=True), digest_size=16).hexdigest(),
        told=body,
    )
    return RemoteSignature(signature, _datatypes(answer.inputs), _datatypes(answer.outputs))


def _datatypes(tensors: Iterable[Any]) -> dict[str, str]:
    return {tensor.name: tensor.datatype for tensor in tensors}


def _tensor(tensor: Any) -> TensorInfo:
    dtype = DATATYPES.get(tensor.datatype)
    if dtype is None:
        raise InvalidInput(
            f"tensor {tensor.name!r} is of {tensor.datatype!r}, which is no type of the protocol"
        )
    return TensorInfo(tensor.name, dtype, tuple(None if d < 0 else d for d in tensor.shape))


def _highest(versions: Iterable[str]) -> str:
    """Numbers by their size; a version that is no number comes before them."""
    return max(versions, key=lambda v: (v.isdecimal(), int(v) if v.isdecimal() else 0), default="")
