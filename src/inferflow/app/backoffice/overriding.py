"""Values somebody wants to see instead, found in a plan: a feature of a key, or a part of the
request.

Which key a target asks with is only known once it has been asked for, so the run without the
values comes first. What steps compute cannot be set: change what they read.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from inferflow.app.backoffice.what_if import Instead
from inferflow.engine.binding import Origin
from inferflow.engine.recording import Recording
from inferflow.engine.request import ScoreRequest
from inferflow.errors import CastFailed, InvalidRequest
from inferflow.featurestore.values import feature_elements
from inferflow.plan.columns import CONTEXT
from inferflow.plan.plan import Column, FeatureStep
from inferflow.plan.problems import closest_hint


@dataclass(frozen=True, slots=True)
class Wish:
    """One value, as it was asked for."""

    field: str
    column: str
    id: str | None
    """The target it is for; None for all."""
    value: Any


@dataclass(slots=True)
class Overriding:
    """What wishes come to."""

    request: ScoreRequest
    instead: list[Instead] = field(default_factory=list)
    columns: dict[Column, tuple[str, ...] | None] = field(default_factory=dict)
    """Feature columns that have another value, and of which key."""


def wishes_of(values: Sequence[dict[str, Any]]) -> list[Wish]:
    return [
        Wish(f"overrides.values[{n}]", each["column"], each.get("id"), each["value"])
        for n, each in enumerate(values)
    ]


def overriding(wishes: Sequence[Wish], request: ScoreRequest, recording: Recording) -> Overriding:
    """Raises InvalidRequest for what cannot be set."""
    done = Overriding(request)
    for wish in wishes:
        column = _column(wish, recording)
        step = next(each for each in recording.plan.steps if each.name == column.step)
        if isinstance(step, FeatureStep) and _place(step, column) is not None:
            instead = _feature(wish, column, step, recording)
            done.instead.append(instead)
            done.columns[column] = instead.key
        elif step.index == 0:
            done.request = _requested(wish, column, done.request, recording)
        else:
            what = f"{wish.column!r} is made by {step.name!r}; change what it reads"
            raise InvalidRequest(f"{wish.field}.column", what)
    return done


def _column(wish: Wish, recording: Recording) -> Column:
    columns = recording.plan.columns
    found = columns.get(wish.column)
    if found is None:
        hint = closest_hint(wish.column, columns)
        raise InvalidRequest(f"{wish.field}.column", f"there is no column {wish.column!r}", hint)
    return found


def _place(step: FeatureStep, column: Column) -> tuple[int, int] | None:
    """Group and run a column is in; None for a key kept beside the features."""
    for group, blocks in enumerate(step.blocks):
        if column.block in blocks:
            return group, blocks.index(column.block)
    return None


def _feature(wish: Wish, column: Column, step: FeatureStep, recording: Recording) -> Instead:
    place, dtype = _place(step, column), column.dtype
    assert place is not None  # looked up by whoever calls
    assert step.read is not None
    assert dtype is not None
    group, run = place
    try:
        elements = feature_elements([wish.value], dtype, column.width or 1)
    except CastFailed as failed:
        raise InvalidRequest(f"{wish.field}.value", failed.what) from failed
    return Instead(
        step.read,
        group,
        run,
        column.offset,
        column.name.rpartition(":")[2],
        None if wish.id is None else _key(wish, step, recording),
        elements,
    )


def _key(wish: Wish, step: FeatureStep, recording: Recording) -> tuple[str, ...]:
    row = _rows(wish, recording)[0]
    read = recording.steps[step.name].read
    position = None if read is None else read.position(row)
    if read is None or position is None:
        raise InvalidRequest(f"{wish.field}.id", f"{step.name!r} has no key for {wish.id!r}")
    return tuple(part[position] for part in read.keys)


def _rows(wish: Wish, recording: Recording) -> list[int]:
    rows = [row for row, known in enumerate(recording.ids) if known == wish.id]
    if not rows:
        hint = closest_hint(wish.id or "", recording.ids)
        raise InvalidRequest(f"{wish.field}.id", f"there is no target {wish.id!r}", hint)
    return rows


# --- parts of the request -------------------------------------------------------------------


def _requested(
    wish: Wish, column: Column, request: ScoreRequest, recording: Recording
) -> ScoreRequest:
    origin = _origin(column, recording)
    if origin is None or origin.kind == "entity":
        what = f"{wish.column!r} names what is scored; change the request's entities"
        raise InvalidRequest(f"{wish.field}.column", what)
    if origin.kind == "inline":
        values = dict(request.features[origin.entity])
        values[origin.name] = _with(values[origin.name], wish, recording)
        return replace(request, features={**request.features, origin.entity: values})
    name = origin.name if origin.kind == "context" else column.name.removeprefix(CONTEXT)
    return replace(request, context={**request.context, name: wish.value})


def _origin(column: Column, recording: Recording) -> Origin | None:
    assert recording.binding is not None
    for requested, origin in recording.binding.targets:
        if requested.target == column and requested.role != "constant":
            return origin
    return None


def _with(given: Any, wish: Wish, recording: Recording) -> Any:
    """One value per target, or one for all, with another in its place."""
    if wish.id is None:
        return [wish.value] * len(recording.ids) if isinstance(given, list) else wish.value
    values = list(given) if isinstance(given, list) else [given] * len(recording.ids)
    if len(values) == 1:
        values *= len(recording.ids)
    for row in _rows(wish, recording):
        values[row] = wish.value
    return values
