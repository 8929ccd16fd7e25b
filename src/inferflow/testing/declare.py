"""Entities, tensors and models in a line each.

entity("product", "product_id", attributes={"price": ("FP32", 9.5), "embedding": "FP32Vector[8]"})
model(lambda x: x.sum(axis=1), inputs={"x": "FP32[N,3]"}, outputs={"score": "FP32[N]"})
"""

from __future__ import annotations

import re
import tempfile
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inferflow.dtypes import Array, parse_dtype
from inferflow.engine.deadline import Deadline
from inferflow.engine.scorer import finish
from inferflow.errors import InvalidInput
from inferflow.plan.catalog import Endpoint, EntityInfo, FeatureInfo, GroupInfo, TensorInfo
from inferflow.testing.models import FakeModel, Function

FeatureText = str | tuple[str, Any]
"""`INT32`, `FP32Vector[8]`, or one of them with a default: `("INT32", 41)`."""

_SHAPED = re.compile(r"(\w+)\[([\w\s,]*)\]")


def entity(label: str, *keys: str, **groups: Mapping[str, FeatureText]) -> EntityInfo:
    """An entity as a feature schema would declare it; groups by name."""
    return EntityInfo(
        label,
        keys or (f"{label}_id",),
        {
            name: GroupInfo(name, {each: _feature(each, text) for each, text in features.items()})
            for name, features in groups.items()
        },
    )


def _feature(name: str, text: FeatureText) -> FeatureInfo:
    written, default = text if isinstance(text, tuple) else (text, None)
    found = _SHAPED.fullmatch(written)
    if found is None:
        return FeatureInfo(name, parse_dtype(written), 1, default)
    return FeatureInfo(name, parse_dtype(found[1]), int(found[2]), default)


def tensor(name: str, text: str) -> TensorInfo:
    """A model's input or output. `FP32[N,3]`: a word for a dimension leaves it free."""
    found = _SHAPED.fullmatch(text)
    if found is None:
        raise InvalidInput(f"{text!r} is not a tensor; write it like FP32[N,3]")
    sizes = [part.strip() for part in found[2].split(",") if part.strip()]
    shape = tuple(int(size) if size.isdigit() else None for size in sizes)
    return TensorInfo(name, parse_dtype(found[1]), shape)


def model(
    function: Function,
    *,
    inputs: Mapping[str, str],
    outputs: Mapping[str, str] | None = None,
) -> FakeModel:
    """A model that is a Python function: arrays in the order of `inputs`, one array back, or one
    per output. Without `outputs` it gives one `score` per row."""
    return FakeModel(
        function,
        tuple(tensor(name, text) for name, text in inputs.items()),
        tuple(tensor(name, text) for name, text in (outputs or {"score": "FP32[N]"}).items()),
    )


def onnx_model(source: bytes | Path) -> FakeModel:
    """A real ONNX model, run by the embedded runtime, where a fake would stand."""
    from inferflow.serving.runtime import EmbeddedModels, ModelRepository

    content = source if isinstance(source, bytes) else source.read_bytes()
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "model", "1", "model.onnx")
        file.parent.mkdir(parents=True)
        file.write_bytes(content)
        models = EmbeddedModels(ModelRepository(folder))
        endpoint = Endpoint("", "model", None)
        signature = models.signature(endpoint)
        assert signature is not None
        prepared = models.prepare(
            endpoint,
            tuple(info.name for info in signature.inputs),
            tuple(info.name for info in signature.outputs),
        )

    def run(*tensors: Array) -> list[Array]:
        return list(finish(_run(list(tensors))))

    async def _run(tensors: list[Array]) -> Any:
        return await prepared.run(tensors, deadline=Deadline(None))

    weakref.finalize(run, models.close)
    return FakeModel(run, signature.inputs, signature.outputs, digest=signature.digest)
