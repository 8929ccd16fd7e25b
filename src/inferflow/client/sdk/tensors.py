"""Arrays by name as a request, and an answer as arrays by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from inferflow.client.oip.answer import read_all, read_answer
from inferflow.client.oip.request import InferRequest
from inferflow.dtypes import Array
from inferflow.errors import InvalidInput, InvalidRequest, ModelFailed

Inputs = Mapping[str, Any]
"""Arrays, or what numpy makes arrays of, by the names of a model's inputs."""
Outputs = dict[str, Array]


class Asked:
    """Requests for one model and some of its outputs; all of them when none are named."""

    def __init__(self, model: str, outputs: Sequence[str] | None) -> None:
        if not isinstance(model, str) or not model:
            raise InvalidRequest("model", f"{model!r} is no name")
        if isinstance(outputs, str):
            raise InvalidRequest("outputs", f"is one text, {outputs!r}", "give a list of names")
        self._model = model
        self._outputs = None if outputs is None else tuple(outputs)

    def body(self, inputs: Inputs) -> bytes:
        """Raises InvalidRequest for what the protocol cannot say."""
        if not inputs:
            raise InvalidRequest("inputs", "is empty")
        arrays = [_array(name, given) for name, given in inputs.items()]
        try:
            request = InferRequest(self._model, None, tuple(inputs), self._outputs or ())
            return request.of(arrays)
        except InvalidInput as wrong:
            raise InvalidRequest("inputs", str(wrong)) from wrong

    def read(self, answer: bytes) -> Outputs:
        """Raises ModelFailed when the answer is not one to what was asked."""
        try:
            if self._outputs is None:
                return read_all(answer)
            arrays, _ = read_answer(answer, self._outputs, {})
        except InvalidInput as wrong:
            raise ModelFailed(self._model, str(wrong)) from wrong
        return dict(zip(self._outputs, arrays, strict=True))


def _array(name: str, given: Any) -> Array:
    try:
        array = np.asarray(given)
    except ValueError as ragged:
        raise InvalidRequest(f"inputs[{name!r}]", f"is no array: {ragged}") from ragged
    if array.dtype.kind == "O" and not all(isinstance(v, str | bytes) for v in array.flat):
        raise InvalidRequest(f"inputs[{name!r}]", "has values that are neither numbers nor text")
    return array.astype(array.dtype.newbyteorder("<"), copy=False)
