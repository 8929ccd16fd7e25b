"""A ModelInfer request as bytes.

Who is asked and for which outputs is written once; a call adds the shapes and the tensors, as raw
bytes. Two messages of one type written one after the other are read as one.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from inferflow._proto.pool import message_class
from inferflow.client.oip.datatypes import BF16, datatype_of, to_bytes
from inferflow.dtypes import Array

_Request = message_class("inference.ModelInferRequest")


class InferRequest:
    """Requests to one model with the same inputs and outputs."""

    def __init__(
        self,
        model: str,
        version: str | None,
        inputs: Sequence[str],
        outputs: Sequence[str],
        *,
        bf16: Collection[str] = (),
    ) -> None:
        """`bf16` are inputs that take BF16; all others take the type their array has."""
        constant = _Request(model_name=model, model_version=version or "")
        for name in outputs:
            constant.outputs.add(name=name)
        self._constant: bytes = constant.SerializeToString()
        self._inputs = [(name, name in bf16) for name in inputs]

    def of(self, tensors: Sequence[Array]) -> bytes:
        """The bytes of one request. Raises InvalidInput for a type the protocol has not."""
        changing = _Request()
        for (name, is_bf16), tensor in zip(self._inputs, tensors, strict=True):
            datatype = BF16 if is_bf16 else datatype_of(tensor)
            changing.inputs.add(name=name, datatype=datatype, shape=tensor.shape)
            changing.raw_input_contents.append(to_bytes(tensor, datatype))
        written: bytes = changing.SerializeToString()
        return self._constant + written
