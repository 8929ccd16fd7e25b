"""A ModelInfer response as bytes, written without a message object.

What does not change from answer to answer (the model's name, its outputs' names and types) is
written once per model; each answer adds its id, its shapes and its values in bulk.
"""

from __future__ import annotations

from collections.abc import Sequence

from inferflow._proto.writing import field, length_of, tag, varint
from inferflow.client.oip.datatypes import DATATYPE_NAMES, to_bytes
from inferflow.dtypes import Array
from inferflow.plan.catalog import ModelSignature

_MODEL_NAME, _MODEL_VERSION, _ID, _OUTPUT, _RAW = (tag(number) for number in (1, 2, 3, 5, 6))
_NAME, _DATATYPE, _SHAPE = (tag(number) for number in (1, 2, 3))
_ERROR, _RESPONSE = tag(1), tag(2)


class AnswerWriter:
    """Writes the answers of one model."""

    def __init__(self, signature: ModelSignature) -> None:
        self._head = field(_MODEL_NAME, signature.model.encode()) + field(
            _MODEL_VERSION, signature.version.encode()
        )
        self._datatypes = {info.name: DATATYPE_NAMES[info.dtype] for info in signature.outputs}
        self._named = {
            info.name: field(_NAME, info.name.encode())
            + field(_DATATYPE, DATATYPE_NAMES[info.dtype].encode())
            for info in signature.outputs
        }

    def answer(self, request_id: str, outputs: Sequence[str], values: Sequence[Array]) -> bytes:
        parts = [self._head]
        if request_id:
            parts.append(field(_ID, request_id.encode()))
        raws: list[bytes] = []
        for name, array in zip(outputs, values, strict=True):
            shape = b"".join(map(varint, array.shape))
            parts.append(field(_OUTPUT, self._named[name] + field(_SHAPE, shape)))
            raw = to_bytes(array, self._datatypes[name])
            raws += (_RAW, length_of(raw), raw)
        return b"".join((*parts, *raws))


def streamed(answer: bytes) -> bytes:
    """An answer as a message of a stream."""
    return field(_RESPONSE, answer)


def streamed_error(text: str, request_id: str) -> bytes:
    """Why one request of a stream failed. The id tells which."""
    empty = field(_ID, request_id.encode()) if request_id else b""
    return field(_ERROR, text.encode()) + field(_RESPONSE, empty)
