"""One target of a request: every column, its value, its source, and how real it is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from inferflow.app.explain.planned import dtype_text
from inferflow.dtypes import dtype_of
from inferflow.engine.matrix import Array, Matrix
from inferflow.engine.ports import ReadState
from inferflow.engine.recording import Recording, StepRecord
from inferflow.explanation.item_text import BLANK
from inferflow.plan.plan import Column, ComputeStep, FeatureStep, Source, Step
from inferflow.scores import ScoreColumn, Scores, Table
from inferflow.tabular import cell_text

Facts = dict[str, Any]

GIVEN = "given"
KEY = "key"
COMPUTED = "computed"


def item_facts(recording: Recording, scores: Scores | None, row: int) -> Facts:
    """Everything known about one row of a request, which may have failed half-way."""
    error = scores.errors[row] if scores is not None else ""
    facts: Facts = {
        "row": row,
        "of": len(recording.ids),
        "error": error,
        "scores": _row(scores.targets, row) if scores is not None else {},
        "columns": list(_columns(recording, error, row)),
    }
    if scores is not None and scores.groups is not None and scores.grouping is not None:
        facts[scores.grouping] = [
            {
                "number": number,
                "members": [recording.ids[member] for member in members],
                "columns": _row(scores.groups, number),
                "error": scores.groups.errors[number],
            }
            for number, members in enumerate(scores.members)
            if row in members
        ]
    return facts


def _row(answers: Table, row: int) -> dict[str, Any]:
    return {name: column.to_list()[row] for name, column in answers.columns.items()}


def _columns(recording: Recording, error: str, row: int) -> Iterator[Facts]:
    matrix = recording.matrix
    assert matrix is not None
    for step in recording.plan.steps:
        for column in dict.fromkeys(step.writes):
            if column.space != "target" or not matrix.is_filled(column.block):
                continue
            blank = _at(matrix.blank(column), row)
            yield {
                "column": column.name,
                "dtype": dtype_text(column),
                "value": None if blank else value_at(matrix, column, row),
                "step": step.name,
                **_origin(step, column, recording, row, blank=bool(blank), error=error),
            }


def value_at(matrix: Matrix, column: Column, row: int) -> Any:
    """A column's value on one row, as plain Python."""
    values = matrix.column(column)
    one = values[row : row + 1] if len(values) > 1 else values
    return ScoreColumn(column.name, column.dtype or dtype_of(one), one).to_list()[0]


def _at(values: Array | None, row: int) -> Any:
    if values is None:
        return None
    return values[row if len(values) > 1 else 0]


def _origin(
    step: Step, column: Column, recording: Recording, row: int, *, blank: bool, error: str
) -> Facts:
    if isinstance(step, FeatureStep):
        return _feature_origin(step, column, recording, row, blank=blank)
    if step.index == 0:
        return _request_origin(column, recording)
    # A row that is marked by its step and has a value nonetheless holds the step's default.
    marked = any(part.startswith(f"{step.name}: ") for part in error.split("; "))
    state = BLANK if blank else ReadState.DEFAULT.name.lower() if marked else COMPUTED
    return {"state": state, "source": _made_by(step, recording, row)}


def _request_origin(column: Column, recording: Recording) -> Facts:
    assert recording.binding is not None
    for requested, origin in recording.binding.targets:
        if requested.target == column:
            if origin.kind == "default":
                return {"state": "default", "source": origin.rule or "implied by the config"}
            return {"state": GIVEN, "source": f"{origin} ({origin.rule})"}
    return {"state": GIVEN, "source": "the request"}


def _made_by(step: Step, recording: Recording, row: int) -> str:
    if not isinstance(step, ComputeStep):
        record = recording.steps[step.name]
        return f"{recording.arms.get(step.name, step.name)} ({record.endpoint})"
    assert recording.matrix is not None
    inputs = ", ".join(
        f"{variable}={cell_text(_input(source, recording.matrix, row))}"
        for variable, source in zip(step.variables, step.sources, strict=True)
    )
    return f"{step.compute_id}({inputs})"


def _input(source: Source, matrix: Matrix, row: int) -> Any:
    column = source.target
    if column is None or not matrix.is_filled(column.block):
        return None
    return None if _at(matrix.blank(column), row) else value_at(matrix, column, row)


# --- features -------------------------------------------------------------------------------


def _feature_origin(
    step: FeatureStep, column: Column, recording: Recording, row: int, *, blank: bool
) -> Facts:
    assert recording.binding is not None
    for pinned, origin in recording.binding.pins.get(step.name, ()):
        if pinned == column:
            return {"state": ReadState.PINNED.name.lower(), "source": str(origin)}
    record = recording.steps[step.name]
    source = f"{step.entity}[{_key_text(step, record, row)}]"
    group = next((g for g, blocks in enumerate(step.blocks) if column.block in blocks), None)
    if group is None:  # a key kept beside the features
        return {"state": BLANK if blank else KEY, "source": source}
    state = _state(column, recording, row)
    facts: Facts = {"state": BLANK if blank else state.name.lower(), "source": source}
    if state is not ReadState.REAL:
        facts["has_default"] = column.has_default
    age_s = _age_s(record, group, row, recording.at_ms)
    if age_s is not None:
        facts["age_s"] = age_s
    return facts


def _state(column: Column, recording: Recording, row: int) -> ReadState:
    matrix, record = recording.matrix, recording.steps[column.step]
    assert matrix is not None
    if record.read is not None and record.read.position(row) is None:
        return ReadState.MISSING
    state = ReadState(int(_at(matrix.states(column.block), row) or 0))
    if state is ReadState.REAL and _at(matrix.absent(column), row):
        return ReadState.DEFAULT
    return state


def _key_text(step: FeatureStep, record: StepRecord, row: int) -> str:
    position = record.read.position(row) if record.read is not None else None
    if record.read is None or position is None:
        return "no key"
    parts = [part[position] for part in record.read.keys]
    return ", ".join(f"{key.name}={text}" for key, text in zip(step.keys, parts, strict=True))


def _age_s(record: StepRecord, group: int, row: int, now_ms: float) -> float | None:
    """Seconds since the row was written; None when there is none, or nobody knows."""
    read = record.read
    position = read.position(row) if read is not None else None
    if read is None or position is None or group >= len(read.written_ms):
        return None
    written = read.written_ms[group]
    if written is None or not written[position]:
        return None
    return float(max(0.0, (now_ms - float(np.asarray(written)[position])) / 1000))
