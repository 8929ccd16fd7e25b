"""What a remote model is taken to be while nobody can ask it, and a remote expression.

Tensors the config spells out are taken at their word. A `feature_map` becomes one tensor per
column, of shape [rows, values], named by the column's last segment, or by the whole column where
two end alike; each score column is an output of its own name. Whoever reads the model's real
signature later checks all of this again.

An expression that is not known here is taken to read every column its step maps, under the same
names, and to look across rows, so that it always sees all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from inferflow.dtypes import FP32, DType
from inferflow.plan.catalog import Endpoint, ExpressionInfo, ModelSignature, TensorInfo
from inferflow.plan.spec import ComputeStepSpec, ModelStepSpec, OutputSpec
from inferflow.plan.tensors import BoundUse

ASSUMED = "assumed"
"""Stands where the digest of what is really known would."""


def assumed_signature(step: ModelStepSpec, endpoint: Endpoint) -> ModelSignature:
    """As far as the config alone tells it. Inputs follow when columns are known."""
    outputs = tuple(info for spec in step.outputs for info in _outputs(spec))
    return ModelSignature(endpoint.model, endpoint.version or "", (), outputs, ASSUMED)


def _outputs(spec: OutputSpec) -> list[TensorInfo]:
    dtype = spec.dtype.element if spec.dtype else FP32
    if spec.tensor is not None:
        return [TensorInfo(spec.tensor, dtype, (None, None))]
    return [TensorInfo(score.bare, dtype, (None, None)) for score in spec.scores]


def assumed_inputs(step: ModelStepSpec, bound: Sequence[BoundUse]) -> tuple[TensorInfo, ...]:
    """One tensor per column, or those the config spells out."""
    if step.tensors:
        by_place = {item.use.where: item for item in bound}
        return tuple(
            TensorInfo(
                tensor.name,
                tensor.dtype.element if tensor.dtype else _dtype(by_place[tensor.uses[0].where]),
                (None, *(None if size < 0 else size for size in tensor.shape or (-1,))),
            )
            for tensor in step.tensors
        )
    ends = [item.use.column.rpartition(":")[2] for item in bound]
    return tuple(
        TensorInfo(
            end if ends.count(end) == 1 else item.use.column,
            _dtype(item),
            (None, item.source.width or None),
        )
        for item, end in zip(bound, ends, strict=True)
    )


def assumed_expression(step: ComputeStepSpec) -> ExpressionInfo:
    """As far as the config alone tells it."""
    names = [use.variable or use.column.rpartition(":")[2] for use in step.uses]
    variables = tuple(
        use.variable or (name if names.count(name) == 1 else use.column)
        for use, name in zip(step.uses, names, strict=True)
    )
    return ExpressionInfo(variables, cross_row=True, numeric=frozenset(variables), digest=ASSUMED)


def _dtype(item: BoundUse) -> DType:
    """What the reader declares, else what the column is, else FP32."""
    column = item.source.target or item.source.slate
    own = column.dtype if column else None
    return (item.use.dtype or own or FP32).element
