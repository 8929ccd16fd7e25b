"""Slate steps the obvious slow way: one slate at a time, one item at a time.

Builds on the row-by-row reference for everything that is per target. The rules written down here:

- a slate that lacks a value, itself or on one of its targets, is skipped: blank, not marked again
- a slate of a size the model does not take is marked; it counts as failed, not the step
- slates of one size share a call where the model takes several; a call that fails loses them
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inferflow.dtypes import FP32, FP64, parse_dtype
from inferflow.engine.request import ScoreRequest
from inferflow.errors import ModelFailed

from .formulas import FORMULAS, NO_ANSWER
from .reference import BLANK, Reference
from .scalars import as_type
from .worlds import World


@dataclass
class SlateOutcome:
    columns: dict[str, list[Any]]
    marks: list[set[str]]
    failing: set[str]


class SlateReference:
    def __init__(self, world: World, config: Mapping[str, Any], request: ScoreRequest) -> None:
        parts = config["component_config"]
        self._models = _slate_steps(parts["predator_component_config"])
        self._computes = _slate_steps(parts["numerix_component_config"])
        mine = {*self._models, *self._computes}
        feeds = config["dag_execution_config"]["component_dependency"]
        per_target = {
            "dag_execution_config": {
                "component_dependency": {
                    step: [child for child in children if child not in mine]
                    for step, children in feeds.items()
                    if step not in mine
                }
            },
            "component_config": {
                kind: {name: spec for name, spec in steps.items() if name not in mine}
                for kind, steps in parts.items()
            },
            "response_config": {"features": ["product_id"]},
        }
        self._world = world
        self._request = request
        self._slates = request.pairs if request.pairs is not None else request.slates
        assert self._slates is not None
        self.targets = Reference(world, per_target, request)
        self._response = config["response_config"]["features"]
        self.columns: dict[str, list[Any]] = {}
        self.marks: list[set[str]] = [set() for _ in self._slates]
        self.failing: set[str] = set()

    def answer(self) -> SlateOutcome:
        targets = self.targets.answer()
        self.failing |= targets.failing
        for step, spec in self._models.items():
            if not self.failing:
                self._run_model(step, spec)
        for step, spec in self._computes.items():
            if not self.failing:
                self._run_compute(step, spec)
        if self.failing:
            return SlateOutcome({}, [], self.failing)
        columns = {name: self.columns[name] for name in self._response if name in self.columns}
        return SlateOutcome(
            {n: [None if v is BLANK else v for v in values] for n, values in columns.items()},
            self.marks,
            set(),
        )

    # --- reading ------------------------------------------------------------------------------

    def _is_at_slate(self, name: str) -> bool:
        bare = name.removeprefix("context:")
        request = self._request
        return name in self.columns or bare in request.slate_features or bare in request.context

    def _at_slate(self, name: str, number: int) -> Any:
        if name in self.columns:
            return self.columns[name][number]
        bare = name.removeprefix("context:")
        given = self._request.slate_features.get(bare)
        if given is None:
            return self._request.context[bare]
        return given[number] if isinstance(given, list) else given

    def _items(self, name: str, number: int) -> list[Any]:
        """A column on every item of a slate; a slate-level value is on each of them."""
        members = self._slates[number]
        if self._is_at_slate(name):
            return [self._at_slate(name, number)] * len(members)
        return [self.targets._read(name, row) for row in members]

    def _is_complete(self, names: Sequence[str], number: int) -> bool:
        return all(value is not BLANK for name in names for value in self._items(name, number))

    # --- models -------------------------------------------------------------------------------

    def _run_model(self, step: str, spec: Any) -> None:
        policy = spec.get("on_error", "skip")
        model = self._world.models[spec["model_name"]]
        uses = spec["inputs"]["feature_map"]
        shape = model.inputs[0].shape
        asked = [n for n in range(len(self._slates)) if self._is_complete(list(uses), n)]
        fixed = self._fixed_size(shape, uses)
        fitting = [n for n in asked if fixed is None or len(self._slates[n]) == fixed]
        answers: dict[int, Any] = {}
        calls = self._calls(fitting, spec, is_fused=len(shape) == 3 or fixed is not None)
        for numbers in calls:
            try:
                scored = {n: self._scored(spec, model, n, fixed) for n in numbers}
            except ModelFailed:
                continue
            answers.update(scored)
        if policy == "fail" and len(answers) < len(fitting):
            self.failing.add(step)
            return
        if fitting and not answers:
            for marked in self.marks:
                marked.add(step)
        for number in asked:
            if number not in answers:
                self.marks[number].add(step)
        rows = []
        for number in range(len(self._slates)):
            if number in answers:
                rows.append(self._judged(step, spec, answers[number], number))
            elif number in asked and policy == "default":
                rows.append(as_type(spec.get("nan_default", 0.0), FP32))
            else:
                rows.append(BLANK)
        self.columns[f"{step}:score"] = rows

    def _fixed_size(self, shape: Sequence[int | None], uses: Mapping[str, Any]) -> int | None:
        """Items a slate must have, when the model says so."""
        if len(shape) == 3:
            return shape[1]
        once = sum(self._is_at_slate(name) for name in uses)
        items = len(uses) - once
        width = shape[1]
        if width is None or width == len(uses):
            return None
        return (width - once) // items

    def _calls(self, fitting: Sequence[int], spec: Any, *, is_fused: bool) -> list[list[int]]:
        if not is_fused:
            return [[number] for number in fitting]
        calls = []
        for size in sorted({len(self._slates[n]) for n in fitting}):
            same = [n for n in fitting if len(self._slates[n]) == size]
            batch = spec.get("batch_size") or len(same)
            calls += [same[at : at + batch] for at in range(0, len(same), batch)]
        return calls

    def _scored(self, spec: Any, model: Any, number: int, fixed: int | None) -> float:
        uses = spec["inputs"]["feature_map"]
        names = list(uses)
        items = [
            [as_type(as_type(v, parse_dtype(uses[name])), FP32) for v in self._items(name, number)]
            for name in names
        ]
        per_item = list(zip(*items, strict=True))
        shape = model.inputs[0].shape
        if len(shape) == 3:
            return float(model.function(np.array(per_item, np.float32))[0][0])
        if fixed is not None:
            at_targets = [i for i, name in enumerate(names) if not self._is_at_slate(name)]
            at_slate = [i for i, name in enumerate(names) if self._is_at_slate(name)]
            flat = [row[i] for row in per_item for i in at_targets]
            flat += [per_item[0][i] for i in at_slate]
            return float(model.function(np.array(flat, np.float32))[0][0])
        scores = [model.function(np.array(row, np.float32))[0][0] for row in per_item]
        return float(reduced([np.float32(s) for s in scores], spec.get("slate_reduce", "first")))

    def _judged(self, step: str, spec: Any, value: float, number: int) -> Any:
        value = as_type(value, FP32)
        policy = spec.get("nan_policy", "pass")
        if math.isfinite(value) or policy == "pass":
            return value
        if policy == "default":
            return as_type(spec.get("nan_default", 0.0), FP32)
        self.marks[number].add(step)
        return BLANK

    # --- compute ------------------------------------------------------------------------------

    def _run_compute(self, step: str, spec: Any) -> None:
        formula = FORMULAS[spec["compute_id"]]
        uses = {key.partition("@")[0]: (parse_dtype(key.partition("@")[2]), column)
                for key, column in spec["score_mapping"].items()}  # fmt: skip
        chosen = [uses[variable] for variable in formula.variables]
        names = [column for _, column in chosen]
        policy = spec.get("on_error", "skip")
        asked = [n for n in range(len(self._slates)) if self._is_complete(names, n)]
        found: dict[int, list[Any]] = {}
        with np.errstate(all="ignore"):
            for number in asked:
                columns = [
                    [np.float32(as_type(v, declared)) for v in self._items(name, number)]
                    for declared, name in chosen
                ]
                if formula.of_row is not None:
                    if all(map(self._is_at_slate, names)):
                        columns = [column[:1] for column in columns]
                    rows = zip(*columns, strict=True)
                    found[number] = [formula.of_row(*row) for row in rows]
                else:
                    assert formula.of_rows is not None
                    found[number] = formula.of_rows(columns[0])
        is_strict = spec.get("domain_errors") == "fail"
        if is_strict and any(v is NO_ANSWER for values in found.values() for v in values):
            if policy == "fail":
                self.failing.add(step)
            for marked in self.marks:
                marked.add(step)
            default = as_type(spec.get("nan_default", 0.0), FP32)
            self.columns[f"{step}:value"] = [
                default if n in asked and policy == "default" else BLANK
                for n in range(len(self._slates))
            ]
            return
        how = spec.get("slate_reduce", "first")
        rows = []
        for number in range(len(self._slates)):
            if number not in found:
                rows.append(BLANK)
                continue
            value = reduced([NO_ANSWER if v is NO_ANSWER else np.float32(v)
                             for v in found[number]], how)  # fmt: skip
            if value is NO_ANSWER:
                self.marks[number].add(step)
                rows.append(BLANK)
            else:
                rows.append(self._judged(step, spec, float(value), number))
        self.columns[f"{step}:value"] = rows


def reduced(values: Sequence[Any], how: str) -> Any:
    """One value of many. It rests on all of them, except the first and the last."""
    if how == "first":
        return values[0]
    if how == "last":
        return values[-1]
    if any(value is NO_ANSWER for value in values):
        return NO_ANSWER
    if how in ("min", "max"):
        if any(map(math.isnan, values)):
            return math.nan
        return min(values) if how == "min" else max(values)
    with np.errstate(all="ignore"):
        total = values[0]
        for value in values[1:]:
            total = total + value
        return total if how == "sum" else FP64.numpy.type(total) / len(values)


def _slate_steps(steps: Mapping[str, Any]) -> dict[str, Any]:
    return {name: spec for name, spec in steps.items() if spec.get("slate_component")}
