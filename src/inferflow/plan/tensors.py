"""Fits a step's columns to a model's real inputs, and its outputs to score columns.

In this order: tensors the config spells out; one input as wide as all columns together, filled
in written order; inputs by name. Anything else is a problem that shows both sides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod

from inferflow.dtypes import DType, is_plain
from inferflow.plan.catalog import ModelSignature, TensorInfo
from inferflow.plan.plan import Piece, Source, TensorPlan
from inferflow.plan.problems import Problems
from inferflow.plan.spec import ModelStepSpec, OutputSpec, ScoreSpec, Use


@dataclass(frozen=True, slots=True)
class BoundUse:
    """A column a step reads, with what is known of it. `width` 0 is not known yet."""

    use: Use
    source: Source


def bind_inputs(
    step: ModelStepSpec,
    bound: Sequence[BoundUse],
    signature: ModelSignature,
    problems: Problems,
) -> tuple[TensorPlan, ...]:
    """A TensorPlan per model input, in the model's order; empty after a problem."""
    where = f"{step.name}.inputs"
    if not _takes_any_rows(step, signature, problems):
        return ()
    if step.tensors:
        return _explicit(step, bound, signature, problems)
    inputs = signature.inputs
    sized = _with_inferred_width(bound, inputs, slate=step.slate)
    if len(inputs) == 1 and _is_concatenation(inputs[0], sized, slate=step.slate):
        return _checked([_tensor(inputs[0], sized, slate=step.slate)], where, sized, problems)
    tensors = _by_name(inputs, sized, slate=step.slate)
    if tensors is None:
        problems.error(
            where,
            f"{_columns_text(sized)} do not fit model {signature.model!r} "
            f"version {signature.version}, which takes {_inputs_text(inputs)}",
            "match the summed width of one input, or name columns like the inputs",
        )
        return ()
    return _checked(tensors, where, sized, problems)


def _takes_any_rows(step: ModelStepSpec, signature: ModelSignature, problems: Problems) -> bool:
    """Whether the first dimension of every input is the batch, and free."""
    fine = True
    for info in signature.inputs:
        if not info.shape:
            problems.error(
                f"{step.name}.inputs",
                f"the model's input {info.name!r} is one value for a whole batch",
                "export it with a batch dimension",
            )
            fine = False
        elif info.shape[0] is not None and not (info.shape[0] == 1 == step.batch_size):
            problems.error(
                f"{step.name}.inputs",
                f"the model takes exactly {info.shape[0]} row(s): {_inputs_text([info])}",
                "export it with a free batch dimension"
                + (", or set batch_size to 1" if info.shape[0] == 1 else ""),
            )
            fine = False
    return fine


def _explicit(
    step: ModelStepSpec,
    bound: Sequence[BoundUse],
    signature: ModelSignature,
    problems: Problems,
) -> tuple[TensorPlan, ...]:
    where = f"{step.name}.inputs"
    by_name = {info.name: info for info in signature.inputs}
    written = {tensor.name for tensor in step.tensors}
    for name in written - by_name.keys():
        problems.error(where, f"the model has no input {name!r}", _inputs_text(signature.inputs))
    for name in by_name.keys() - written:
        problems.error(where, f"the model's input {name!r} is given no columns")
    if written != by_name.keys():
        return ()
    by_place = {item.use.where: item for item in bound}
    tensors = []
    for info in signature.inputs:
        tensor = next(t for t in step.tensors if t.name == info.name)
        part = [by_place[use.where] for use in tensor.uses]
        wanted = prod(tensor.shape) if tensor.shape and -1 not in tensor.shape else 0
        fixed = _trailing(info, slate=step.slate)
        sized = _widened(part, wanted or fixed or 0)
        total = sum(item.source.width for item in sized)
        if wanted and total != wanted:
            problems.error(
                f"{where}[{info.name!r}]",
                f"{_columns_text(sized)} make {total} values, but shape {list(tensor.shape)} "
                f"holds {wanted}",
            )
            return ()
        if fixed and not step.slate and total != fixed:
            problems.error(
                f"{where}[{info.name!r}]",
                f"{_columns_text(sized)} make {total} values, but the model takes "
                f"{_inputs_text([info])}",
            )
            return ()
        tensors.append(_tensor(info, sized, slate=step.slate))
    return _checked(tensors, where, bound, problems)


def _checked(
    tensors: Sequence[TensorPlan], where: str, bound: Sequence[BoundUse], problems: Problems
) -> tuple[TensorPlan, ...]:
    """Text cannot become a number in a tensor, and numbers need no text tensor by accident."""
    fine = True
    places = {item.source.name: item.use.where for item in bound}
    for tensor in tensors:
        for source in tensor.sources:
            column = source.target or source.slate
            kind = source.via or (column.dtype if column else None)
            place = places.get(source.name, where)
            if kind is not None and kind.is_text and not tensor.dtype.is_text:
                problems.error(
                    place,
                    f"text cannot fill the {tensor.dtype.name} input {tensor.name!r}",
                    "declare the type it is to be read as",
                )
                fine = False
            if source.width == 0:
                problems.error(place, "its length is not known", "give it a `dim`")
                fine = False
    return tuple(tensors) if fine else ()


def _trailing(info: TensorInfo, *, slate: bool) -> int | None:
    """Values one row of an input holds; None when a dimension is free."""
    tail = info.shape[2:] if slate and len(info.shape) == 3 else info.shape[1:]
    return None if any(d is None for d in tail) else prod(d for d in tail if d is not None)


def _with_inferred_width(
    bound: Sequence[BoundUse], inputs: Sequence[TensorInfo], *, slate: bool
) -> list[BoundUse]:
    """A vector of unknown length takes what the one input leaves for it."""
    trailing = _trailing(inputs[0], slate=slate) if len(inputs) == 1 else None
    return _widened(bound, trailing or 0)


def _widened(bound: Sequence[BoundUse], wanted: int) -> list[BoundUse]:
    unknown = [item for item in bound if item.source.width == 0]
    left = wanted - sum(item.source.width for item in bound)
    if len(unknown) != 1 or left <= 0:
        return list(bound)
    return [
        BoundUse(item.use, replace(item.source, width=left)) if item is unknown[0] else item
        for item in bound
    ]


def _is_concatenation(info: TensorInfo, bound: Sequence[BoundUse], *, slate: bool) -> bool:
    total = sum(item.source.width for item in bound)
    trailing = _trailing(info, slate=slate)
    if len(info.shape) < 2:
        return len(info.shape) == 1 and total == 1
    if trailing is None:
        # A free width takes whatever comes, unless a single column is named like the input.
        return len(info.shape) == 2 or (slate and len(info.shape) == 3)
    if trailing == total:
        return True
    return slate and len(info.shape) == 2 and _slate_size(trailing, bound) is not None


def _slate_size(width: int, bound: Sequence[BoundUse]) -> int | None:
    """Items n with n·F + G == width, for some split of request columns between F and G."""
    fixed = sum(item.source.width for item in bound if item.source.slate is None)
    always = sum(item.source.width for item in bound if item.source.target is None)
    either = [item.source.width for item in bound if item.source.target and item.source.slate]
    splits = {0}
    for size in either:
        splits |= {size + other for other in splits}
    for at_slate in sorted(splits, reverse=True):
        per_item, once = fixed + sum(either) - at_slate, always + at_slate
        if per_item > 0 and (width - once) > 0 and (width - once) % per_item == 0:
            return (width - once) // per_item
    return None


def _by_name(
    inputs: Sequence[TensorInfo], bound: Sequence[BoundUse], *, slate: bool
) -> list[TensorPlan] | None:
    """Every input bound to exactly one column by name, and every column used."""
    tensors = []
    taken: set[str] = set()
    for info in inputs:
        matches = [item for item in bound if info.name in _input_names(item.use.column)]
        if len(matches) != 1 or matches[0].source.name in taken:
            return None
        item = matches[0]
        taken.add(item.source.name)
        trailing = _trailing(info, slate=slate)
        [item] = _widened([item], trailing or 0)
        if trailing is not None and trailing != item.source.width and not slate:
            return None
        tensors.append(_tensor(info, [item], slate=slate))
    return tensors if len(taken) == len(bound) else None


def _input_names(column: str) -> set[str]:
    return {column.rpartition(":")[2], column, column.replace(":", "_")}


def _tensor(info: TensorInfo, bound: Sequence[BoundUse], *, slate: bool) -> TensorPlan:
    sources = tuple(item.source for item in bound)
    return TensorPlan(
        name=info.name,
        dtype=info.dtype,
        shape=info.shape,
        sources=sources,
        width=sum(source.width for source in sources),
        pieces=() if slate else pieces_of(sources, info.dtype),
    )


def pieces_of(sources: Sequence[Source], tensor: DType) -> tuple[Piece, ...]:
    """The moves that lay columns side by side, neighbours in one block merged into one."""
    pieces: list[Piece] = []
    at = 0
    for source in sources:
        column = source.target
        if column is None:
            return ()
        start, stop = column.offset, column.offset + source.width
        last = pieces[-1] if pieces else None
        if (
            last is not None
            and last.block == column.block
            and last.stop == start
            and last.via == source.via
        ):
            pieces[-1] = Piece(last.block, last.start, stop, last.at, last.via, last.is_plain)
        else:
            own = source.via or (column.dtype and column.dtype.element)
            plain = own is not None and is_plain(own, tensor)
            pieces.append(Piece(column.block, start, stop, at, source.via, plain))
        at += source.width
    return tuple(pieces)


def via(declared: DType | None, own: DType | None) -> DType | None:
    """The element type a value must pass through: what the reader declares, if not its own."""
    if declared is None or (own is not None and declared.element is own.element):
        return None
    return declared.element


# --- outputs --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class BoundOutput:
    """One model output and the score columns cut from it."""

    tensor: str
    dtype: DType
    scores: tuple[tuple[ScoreSpec, int], ...]
    """(score, width) in order."""


def bind_outputs(
    step: ModelStepSpec, signature: ModelSignature, problems: Problems
) -> tuple[BoundOutput, ...]:
    """Score columns by output name; else one per output in order; else one output split."""
    where = f"{step.name}.outputs"
    bound: list[BoundOutput] = []
    for spec in step.outputs:
        if spec.tensor is not None:
            info = next((o for o in signature.outputs if o.name == spec.tensor), None)
            if info is None:
                problems.error(
                    where,
                    f"the model has no output {spec.tensor!r}",
                    f"it gives {_inputs_text(signature.outputs)}",
                )
                continue
            bound.append(_split(info, spec, step, problems))
            continue
        bound.extend(_by_rule(spec, step, signature, problems))
    return tuple(bound)


def _by_rule(
    spec: OutputSpec, step: ModelStepSpec, signature: ModelSignature, problems: Problems
) -> list[BoundOutput]:
    outputs = {info.name: info for info in signature.outputs}
    if all(score.bare in outputs for score in spec.scores):
        return [
            _split(outputs[score.bare], replace(spec, scores=(score,)), step, problems)
            for score in spec.scores
        ]
    if len(spec.scores) == len(signature.outputs):
        return [
            _split(info, replace(spec, scores=(score,)), step, problems)
            for score, info in zip(spec.scores, signature.outputs, strict=True)
        ]
    if len(signature.outputs) == 1:
        return [_split(signature.outputs[0], spec, step, problems)]
    problems.error(
        f"{step.name}.outputs",
        f"{len(spec.scores)} score columns do not fit {_inputs_text(signature.outputs)}",
        "name them like the outputs, or list one per output",
    )
    return []


def _split(
    info: TensorInfo, spec: OutputSpec, step: ModelStepSpec, problems: Problems
) -> BoundOutput:
    tail = info.shape[2:] if step.slate and len(info.shape) == 3 else info.shape[1:]
    total = None if any(d is None for d in tail) else prod(d for d in tail if d is not None)
    scores = spec.scores
    if len(scores) == 1:
        widths = [scores[0].width or total or 1]
    else:
        widths = [score.width or 1 for score in scores]
    if total is not None and sum(widths) != total:
        problems.error(
            f"{step.name}.outputs",
            f"{len(scores)} score column(s) take {sum(widths)} value(s) of output "
            f"{info.name!r}, which gives {total} per row",
        )
    dtype = spec.dtype.element if spec.dtype else info.dtype
    return BoundOutput(info.name, dtype, tuple(zip(scores, widths, strict=True)))


def _columns_text(bound: Sequence[BoundUse]) -> str:
    total = sum(item.source.width for item in bound)
    names = ", ".join(item.use.column for item in bound[:6])
    more = f", … {len(bound) - 6} more" if len(bound) > 6 else ""
    return f"{len(bound)} column(s) of {total} value(s) per row ({names}{more})"


def _inputs_text(tensors: Sequence[TensorInfo]) -> str:
    return ", ".join(
        f"{t.name!r} {t.dtype.name}[{', '.join('N' if d is None else str(d) for d in t.shape)}]"
        for t in tensors
    )
