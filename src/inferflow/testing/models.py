"""Models that are Python functions.

They are as strict as a real runtime: a tensor of another type or shape than the signature says
fails the call, and so does an answer that comes after the deadline.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inferflow.dtypes import Array, dtype_of
from inferflow.engine.deadline import Deadline
from inferflow.errors import InferflowError, InvalidInput, ModelFailed, NotFound
from inferflow.plan.catalog import Endpoint, ModelSignature, TensorInfo
from inferflow.testing.clock import ManualClock

Function = Callable[..., Any]
"""Takes one array per input, in the model's order; gives an array, or one per output."""


@dataclass(frozen=True, slots=True)
class FakeModel:
    function: Function
    inputs: tuple[TensorInfo, ...]
    outputs: tuple[TensorInfo, ...]
    digest: str = "fake"


@dataclass(frozen=True, slots=True)
class Call:
    """One call of a model, as it arrived."""

    model: str
    """`name@version`."""
    tensors: Mapping[str, Array]


def failing(why: str = "it is out of order") -> Function:
    """A function that fails as a broken model does."""

    def fail(*_: Array) -> Any:
        raise ModelFailed("fake", why)

    return fail


def slow(function: Function, seconds: float, clock: ManualClock) -> Function:
    """The function, taking so long by this clock."""

    def take_time(*tensors: Array) -> Any:
        clock.advance(seconds)
        return function(*tensors)

    return take_time


class FakeModels:
    """Implements `engine.ports.ModelRunner`. Models go by `name` (version 1) or `name@version`."""

    def __init__(self, models: Mapping[str, FakeModel], *, local: bool = True) -> None:
        self.local = local
        """False: calls really wait, so that plans with them run as tasks."""
        self.calls: list[Call] = []
        self._versions: dict[str, dict[str, FakeModel]] = {}
        for label, model in models.items():
            name, _, version = label.partition("@")
            self._versions.setdefault(name, {})[version or "1"] = model

    def names(self) -> Collection[str]:
        return self._versions

    def signature(self, endpoint: Endpoint) -> ModelSignature | None:
        found = self._find(endpoint)
        if found is None:
            return None
        version, model = found
        digest = f"{endpoint.model}@{version} {model.digest} {model.inputs} {model.outputs}"
        return ModelSignature(endpoint.model, version, model.inputs, model.outputs, digest)

    def is_local(self, endpoint: Endpoint) -> bool:
        return self.local and endpoint.is_local

    def prepare(
        self, endpoint: Endpoint, inputs: tuple[str, ...], outputs: tuple[str, ...]
    ) -> PreparedFake:
        found = self._find(endpoint)
        if found is None:
            raise NotFound("model", endpoint.model)
        version, model = found
        if set(inputs) != {info.name for info in model.inputs}:
            known = [info.name for info in model.inputs]
            raise InvalidInput(f"model {endpoint.model!r} takes {known}, not {list(inputs)}")
        known = [info.name for info in model.outputs]
        for name in outputs:
            if name not in known:
                raise NotFound(f"output of model {endpoint.model!r}", name)
        return PreparedFake(self, endpoint, version, model, inputs, outputs)

    def _find(self, endpoint: Endpoint) -> tuple[str, FakeModel] | None:
        versions = self._versions.get(endpoint.model)
        if versions is None:
            return None
        version = endpoint.version or max(versions, key=int)
        return (version, versions[version]) if version in versions else None


class PreparedFake:
    """Implements `engine.ports.PreparedModel`."""

    def __init__(
        self,
        models: FakeModels,
        endpoint: Endpoint,
        version: str,
        model: FakeModel,
        inputs: tuple[str, ...],
        outputs: tuple[str, ...],
    ) -> None:
        self.endpoint = endpoint
        self.version = version
        self._models = models
        self._model = model
        self._label = f"{endpoint.model}@{version}"
        self._inputs = inputs
        self._outputs = outputs

    async def run(self, tensors: Sequence[Array], *, deadline: Deadline) -> Sequence[Array]:
        if not self._models.local:
            await asyncio.sleep(0)
        deadline.check(f"model {self._label!r}")
        given = dict(zip(self._inputs, tensors, strict=True))
        self._models.calls.append(Call(self._label, given))
        for info in self._model.inputs:
            self._check_fit(info, given[info.name])
        try:
            answer = self._model.function(*(given[info.name] for info in self._model.inputs))
        except InferflowError:
            raise
        except Exception as broken:  # whatever the function raises is the model's failure
            raise ModelFailed(self._label, f"{type(broken).__name__}: {broken}") from broken
        deadline.check(f"model {self._label!r}")
        return self._in_order(answer)

    def _check_fit(self, info: TensorInfo, values: Array) -> None:
        fits = values.ndim == len(info.shape) and all(
            want is None or want == got for want, got in zip(info.shape, values.shape, strict=True)
        )
        if not fits or dtype_of(values.reshape(-1)) is not info.dtype:
            wanted = ", ".join("N" if size is None else str(size) for size in info.shape)
            raise ModelFailed(
                self._label,
                f"input {info.name!r} takes {info.dtype.name}[{wanted}], "
                f"not {values.dtype}{list(values.shape)}",
            )

    def _in_order(self, answer: Any) -> list[Array]:
        names = [info.name for info in self._model.outputs]
        arrays = [answer] if len(names) == 1 and not isinstance(answer, list | tuple) else answer
        by_name = {
            info.name: np.asarray(array, dtype=info.dtype.numpy)
            for info, array in zip(self._model.outputs, arrays, strict=True)
        }
        return [by_name[name] for name in self._outputs]
