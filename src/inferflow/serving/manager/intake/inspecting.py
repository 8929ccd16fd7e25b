"""What a model file says about itself, read without running anything of it.

Weights may lie in other files, if these were uploaded with it: whatever else a tensor points to is
refused by its name. The walk keeps its own stack, so no nesting can exhaust ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from inferflow.errors import ModelUnreadable
from inferflow.serving.manager.intake.limits import IntakeLimits

MODEL_FILE = "model.onnx"

_DOMAINS = frozenset({"", "ai.onnx", "ai.onnx.ml", "com.microsoft"})
"""Operators every worker has; others would need code that nobody has checked."""
_PLACES = frozenset({"location", "offset", "length", "checksum"})


def inspect(model: str, sizes: Mapping[str, int], limits: IntakeLimits) -> None:
    """Look at the model in the current folder. `sizes` are those of all files uploaded with it.

    Raises ModelUnreadable.
    """
    import onnx

    try:
        read = onnx.load(MODEL_FILE, load_external_data=False)
    except Exception as failed:  # protobuf's errors depend on which of its engines is at work
        why = "it is not ONNX, or damaged"
        raise ModelUnreadable(model, why, "was it copied completely?") from failed
    if not read.graph.node and not read.graph.initializer:
        raise ModelUnreadable(model, "it is not ONNX, or holds no graph")
    _check_operators(model, read, onnx.defs.onnx_opset_version())
    for tensor in _walk(model, read, limits):
        _check_weights(model, tensor, sizes)
    try:
        onnx.checker.check_model(MODEL_FILE)
    except (onnx.checker.ValidationError, ValueError) as failed:
        said = " ".join(str(failed).split())[:300]
        raise ModelUnreadable(model, f"the ONNX checker says: {said}") from failed


def _check_operators(model: str, read: Any, newest: int) -> None:
    own = {function.domain for function in read.functions}
    for used in read.opset_import:
        if used.domain not in _DOMAINS | own:
            why = f"it uses operators of {used.domain[:60]!r}, which no worker has"
            raise ModelUnreadable(model, why, "export it with standard operators")
        if used.domain in {"", "ai.onnx"} and used.version > newest:
            why = f"it needs ONNX operators of version {used.version}; known is up to {newest}"
            raise ModelUnreadable(model, why, "export it for an older opset")


def _walk(model: str, read: Any, limits: IntakeLimits) -> Iterator[Any]:
    """Every tensor in the file, wherever it hides, while nodes and depth are counted."""
    nodes = 0
    waiting: list[tuple[Any, int]] = [(read.graph, 1)]
    waiting += [(function, 1) for function in read.functions]
    waiting += [(g, 1) for t in read.training_info for g in (t.initialization, t.algorithm)]
    while waiting:
        graph, depth = waiting.pop()
        if depth > limits.depth:
            raise ModelUnreadable(model, f"loops and branches nest deeper than {limits.depth}")
        nodes += len(graph.node)
        if nodes > limits.nodes:
            raise ModelUnreadable(model, f"its graph has more than {limits.nodes} nodes")
        yield from getattr(graph, "initializer", ())
        for sparse in getattr(graph, "sparse_initializer", ()):
            yield from (sparse.values, sparse.indices)
        for node in graph.node:
            for attribute in node.attribute:
                yield from _tensors_of(attribute)
                inner = [*attribute.graphs, *([attribute.g] if attribute.HasField("g") else [])]
                waiting += [(found, depth + 1) for found in inner]


def _tensors_of(attribute: Any) -> Iterator[Any]:
    yield from attribute.tensors
    if attribute.HasField("t"):
        yield attribute.t
    sparse = [*attribute.sparse_tensors]
    if attribute.HasField("sparse_tensor"):
        sparse.append(attribute.sparse_tensor)
    for found in sparse:
        yield from (found.values, found.indices)


def _check_weights(model: str, tensor: Any, sizes: Mapping[str, int]) -> None:
    """External data stays inside the files that came with the model."""
    is_external = tensor.data_location == tensor.EXTERNAL
    if not is_external and not tensor.external_data:
        return
    name = repr(tensor.name[:60])
    places = {entry.key: entry.value for entry in tensor.external_data}
    if not is_external or len(places) != len(tensor.external_data) or not set(places) <= _PLACES:
        raise ModelUnreadable(model, f"tensor {name} says in an odd way where its data is")
    size = sizes.get(places.get("location", ""))
    if size is None or places["location"] == MODEL_FILE:
        where = repr(places.get("location", "")[:60])
        why = f"tensor {name} wants its data from {where}, which was not uploaded with the model"
        raise ModelUnreadable(model, why, "upload the weights too, or export one file")
    numbers = [places.get("offset", "0"), places.get("length", "0")]
    if not all(re.fullmatch(r"[0-9]{1,18}", number) for number in numbers):
        raise ModelUnreadable(model, f"tensor {name} has an offset or length that is no number")
    if sum(map(int, numbers)) > size:
        raise ModelUnreadable(model, f"tensor {name} reaches beyond the end of its file")
