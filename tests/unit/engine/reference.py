"""The obvious slow engine: one row at a time, one scalar at a time.

Reads the written config itself (documented shape, edges to children), the tables and the row
functions of a world, and says what the answer must be: values, blanks, which steps marked which
rows, or which steps fail the request. It shares no code with the engine but the row functions
of the models, and knows neither blocks nor plans nor vectors of rows.

Where a rule is the engine's own choice, it is written down here, once:

- a row with no key is a key nobody has seen: defaults under `on_error: default`; under any other
  policy the row is blank, and marked
- a row that lacks an input of a model or a compute step is skipped by it: blank, and not marked
  again, whatever the step's own policy
- when every call of a step fails, the step has failed and marks every row; when some fail, they
  mark their own rows
- a value the request brings for a feature wins over the store, even if the store cannot be asked
- numbers that are not finite are judged per output, so a bad element blanks the whole output;
  where the output's type has no NaN, they are judged before they are converted to it
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from inferflow.dtypes import FP32, FP64, STRING, DType, parse_dtype
from inferflow.engine.request import ScoreRequest
from inferflow.errors import ModelFailed

from .formulas import FORMULAS, NO_ANSWER, Formula
from .scalars import Unconvertible, as_type, key_text
from .worlds import EXPIRED, World, default_of

ROOT = "feature_initializer"


class _Blank:
    def __repr__(self) -> str:
        return "BLANK"


BLANK: Any = _Blank()


@dataclass
class Column:
    dtype: DType
    rows: list[Any]
    """A scalar, a tuple for a vector, or BLANK."""
    is_key: list[bool] = field(default_factory=list)
    """Whether a row's value may be a key: real, brought by the request, or a declared default."""

    def __post_init__(self) -> None:
        self.is_key = self.is_key or [True] * len(self.rows)


@dataclass
class Outcome:
    """What an engine must answer."""

    columns: dict[str, list[Any]]
    """Response column → values, None where there is none."""
    marks: list[set[str]]
    """row → steps that marked it."""
    failing: set[str]
    """Steps that fail the request; any of them may be the one that is named."""
    is_refused: bool = False
    """The request itself lacks something."""


class Reference:
    """Interprets one request."""

    def __init__(self, world: World, config: Mapping[str, Any], request: ScoreRequest) -> None:
        self._world = world
        self._request = request
        self._config = config
        self._entities = {
            name: [given] if isinstance(given, str) else list(given)
            for name, given in request.entities.items()
        }
        self.rows = max(map(len, self._entities.values()))
        self.columns: dict[str, Column] = {}
        self.marks: list[set[str]] = [set() for _ in range(self.rows)]
        self.failing: set[str] = set()
        self._unreached: set[str] = set()
        parts = config["component_config"]
        self._features = parts["feature_component_config"]
        self._models = parts["predator_component_config"]
        self._computes = parts["numerix_component_config"]
        self._feeds = config["dag_execution_config"]["component_dependency"]

    def answer(self) -> Outcome:
        if self._lacks_something():
            return Outcome({}, [], set(), is_refused=True)
        for step in self._order():
            parents = [name for name, children in self._feeds.items() if step in children]
            if any(parent in self.failing | self._unreached for parent in parents):
                self._unreached.add(step)
            elif step in self._features:
                self._run_features(step, self._features[step])
            elif step in self._models:
                self._run_model(step, self._models[step])
            else:
                self._run_compute(step, self._computes[step])
        if self.failing:
            return Outcome({}, [], self.failing)
        columns = {
            name: [self._read(name, row) for row in range(self.rows)]
            for name in self._config["response_config"]["features"]
        }
        return Outcome(
            {n: [None if v is BLANK else v for v in values] for n, values in columns.items()},
            self.marks,
            set(),
        )

    def _order(self) -> list[str]:
        waiting = [*self._features, *self._models, *self._computes]
        done = [ROOT]
        while waiting:
            step = next(
                s
                for s in waiting
                if all(p in done for p, children in self._feeds.items() if s in children)
            )
            waiting.remove(step)
            done.append(step)
        return done[1:]

    # --- what the request brings --------------------------------------------------------------

    def _brought(self, name: str) -> list[Any] | None:
        """A name the request gives, as one value per row; None when it gives none."""
        request = self._request
        bare = name.removeprefix("context:")
        if bare in request.context:
            return [request.context[bare]] * self.rows
        for entity, named in request.features.items():
            for given, values in named.items():
                if bare in (given, f"{entity}:{given}"):
                    return self._per_row(values)
        for entity, ids in self._entities.items():
            if bare in (entity, f"{entity}_id"):
                return ids if len(ids) == self.rows else ids * self.rows
        return None

    def _per_row(self, values: Any) -> list[Any]:
        listed = values if isinstance(values, list) else [values]
        return listed if len(listed) == self.rows else listed * self.rows

    def _default(self, name: str) -> Any:
        """What the config says a request column holds when the request leaves it out."""
        for model in self._models.values():
            use = model["inputs"].get("feature_map", {}).get(name)
            if isinstance(use, Mapping) and "default" in use:
                return use["default"]
        return None

    def _lacks_something(self) -> bool:
        written = set()
        for step, spec in self._features.items():
            written |= {column for column, *_ in self._feature_columns(step, spec)}
            written |= set(self._key_columns(step, spec))
        for step, spec in self._models.items():
            written |= {score for _, scores in self._outputs(step, spec) for score, _ in scores}
        written |= {f"{step}:{spec['score_column']}" for step, spec in self._computes.items()}
        read = {col for spec in self._features.values() for col in spec["fs_keys"]["col"]}
        read |= {col for spec in self._models.values() for _, uses in self._tensors(spec)
                 for col, _ in uses}  # fmt: skip
        read |= {col for spec in self._computes.values() for col in spec["score_mapping"].values()}
        read |= set(self._config["response_config"]["features"])
        return any(
            self._brought(name) is None and self._default(name) is None for name in read - written
        )

    def _read(self, name: str, row: int) -> Any:
        column = self.columns.get(name)
        if column is not None:
            return column.rows[row]
        brought = self._brought(name)
        return self._default(name) if brought is None else brought[row]

    # --- features -----------------------------------------------------------------------------

    def _feature_columns(self, step: str, spec: Any) -> list[tuple[str, str, str, Any, DType]]:
        """(column, group, feature, config default, type) of every feature a step reads."""
        entity = self._world.entities[spec["fs_request"]["entity_label"]]
        prefix = spec.get("col_name_prefix") or entity.label
        found = []
        for group in spec["fs_request"]["feature_groups"]:
            infos = entity.groups[group["label"]].features
            for written in group["feature_labels"]:
                label, _, kind = written.partition("@")
                dtype = parse_dtype(kind) if kind else infos[label].dtype
                default = group["defaults"].get(label)
                name = f"{prefix}:{group['label']}:{label}"
                found.append((name, group["label"], label, default, dtype))
        return found

    def _key_columns(self, step: str, spec: Any) -> list[str]:
        kept = [f"{step}:{key}" for key in spec.get("fs_flatten_resp_keys", [])]
        return [*kept, f"{step}:id"] if spec.get("composite_id") else kept

    def _key(self, spec: Any, row: int) -> tuple[str, ...] | None:
        parts = []
        for column_name in spec["fs_keys"]["col"]:
            column = self.columns.get(column_name)
            value = self._read(column_name, row)
            if value is BLANK or (column is not None and not column.is_key[row]):
                return None
            text = key_text(value, column.dtype if column else STRING)
            if text is None:
                return None
            parts.append(text)
        return tuple(parts)

    def _run_features(self, step: str, spec: Any) -> None:
        policy = spec.get("on_error", "default")
        keys = [self._key(spec, row) for row in range(self.rows)]
        self._keep_keys(step, spec, keys)
        columns = self._feature_columns(step, spec)
        entity = self._world.entities[spec["fs_request"]["entity_label"]]
        asked = {key for key in keys if key is not None} if columns else set()
        in_order = {self._in_schema_order(spec, entity.keys, key): key for key in asked}
        lost = {key for full, key in in_order.items() if full in self._world.broken_keys}
        if lost and spec.get("batch_size") != 1:
            lost = asked
        if lost and policy == "fail":
            self.failing.add(step)
            return
        has_failed = bool(asked) and lost == asked
        for row, key in enumerate(keys):
            if has_failed or key in lost or (key is None and policy != "default" and columns):
                self.marks[row].add(step)
        for name, group, label, default, dtype in columns:
            info = entity.groups[group].features[label]
            table = self._world.tables[entity.label, group]
            stand_in = as_type(_wide(default_of(info), info.dim), info.dtype)
            stand_in = as_type(stand_in if default is None else _wide(default, info.dim), dtype)
            column = Column(dtype, [None] * self.rows, [True] * self.rows)
            pinned = self._brought(name)
            for row, key in enumerate(keys):
                is_lost = has_failed or key in lost
                if pinned is not None:
                    column.rows[row] = as_type(_scalar(pinned[row]), dtype)
                elif (is_lost or key is None) and policy != "default":
                    column.rows[row] = BLANK
                else:
                    full = key and self._in_schema_order(spec, entity.keys, key)
                    found = None if is_lost or key is None else table.get(full)
                    if found is None or found is EXPIRED or label not in found:
                        column.rows[row] = stand_in
                        column.is_key[row] = default is not None or info.default is not None
                    else:
                        stored = as_type(_scalar(found[label]), info.dtype)
                        column.rows[row] = as_type(stored, dtype)
            self.columns[name] = column

    def _in_schema_order(
        self, spec: Any, names: Sequence[str], key: tuple[str, ...]
    ) -> tuple[str, ...]:
        written = spec["fs_keys"]["schema"]
        return tuple(key[written.index(name)] for name in names)

    def _keep_keys(self, step: str, spec: Any, keys: Sequence[tuple[str, ...] | None]) -> None:
        for name in spec.get("fs_flatten_resp_keys", []):
            at = spec["fs_keys"]["schema"].index(name)
            rows = [BLANK if key is None else key[at] for key in keys]
            self.columns[f"{step}:{name}"] = Column(STRING, rows)
        if spec.get("composite_id"):
            rows = [BLANK if key is None else "|".join(key) for key in keys]
            self.columns[f"{step}:id"] = Column(STRING, rows)

    # --- models -------------------------------------------------------------------------------

    def _tensors(self, spec: Any) -> list[tuple[str, list[tuple[str, DType | None]]]]:
        """(tensor, [(column, declared type)]) in the model's order."""
        inputs = spec["inputs"]
        infos = self._world.models[spec["model_name"]].inputs
        if "tensors" in inputs:
            written = {t["name"]: t for t in inputs["tensors"]}
            return [
                (
                    info.name,
                    [
                        (col, _declared(written[info.name].get("data_type")))
                        for col in written[info.name]["features"]
                    ],
                )
                for info in infos
            ]
        assert len(infos) == 1
        uses = [(col, _declared(use)) for col, use in inputs["feature_map"].items()]
        return [(infos[0].name, uses)]

    def _outputs(self, step: str, spec: Any) -> list[tuple[int, list[tuple[str, int]]]]:
        """(number of the model's output, [(score column, width)])."""
        infos = self._world.models[spec["model_name"]].outputs
        names = [info.name for info in infos]
        outputs = spec["outputs"]
        if "tensors" in outputs:
            return [
                (
                    names.index(t["name"]),
                    [
                        (score, dims[0])
                        for score, dims in zip(
                            t["model_scores"], t["model_scores_dims"], strict=True
                        )
                    ],
                )
                for t in outputs["tensors"]
            ]
        scores = outputs["score_columns"]
        if len(infos) == 1 and len(scores) > 1:
            return [(0, [(f"{step}:{score}", 1) for score in scores])]
        return [
            (names.index(score), [(f"{step}:{score}", infos[names.index(score)].shape[1] or 1)])
            for score in scores
        ]

    def _run_model(self, step: str, spec: Any) -> None:
        policy = spec.get("on_error", "skip")
        model = self._world.models[spec["model_name"]]
        read = [col for _, uses in self._tensors(spec) for col, _ in uses]
        ready = [
            row
            for row in range(self.rows)
            if all(self._read(name, row) is not BLANK for name in read)
        ]
        answers: dict[int, Any] = {}
        size = spec.get("batch_size") or len(ready)
        try:
            inputs = {row: self._inputs(spec, model, row) for row in ready}
        except Unconvertible:
            inputs = {}
        for start in range(0, len(ready) if inputs else 0, size or 1):
            batch = ready[start : start + size]
            try:
                answers.update({row: model.function(*inputs[row]) for row in batch})
            except ModelFailed:
                for row in batch:
                    answers.pop(row, None)
        lost = [row for row in ready if row not in answers]
        if lost and policy == "fail":
            self.failing.add(step)
            return
        for row in range(self.rows) if ready and not answers else lost:
            self.marks[row].add(step)
        for number, scores in self._outputs(step, spec):
            dtype = model.outputs[number].dtype
            width = sum(size for _, size in scores)
            block = []
            for row in range(self.rows):
                if row in answers:
                    block.append(self._judged(step, spec, answers[row][number], dtype, row))
                elif row in lost and policy == "default":
                    block.append([as_type(spec.get("nan_default", 0.0), dtype)] * width)
                else:
                    block.append(BLANK)
            at = 0
            for score, size in scores:
                rows = [values if values is BLANK else _cut(values, at, size) for values in block]
                self.columns[score] = Column(dtype, rows)
                at += size

    def _inputs(self, spec: Any, model: Any, row: int) -> list[Any]:
        arrays = []
        for info, (_, uses) in zip(model.inputs, self._tensors(spec), strict=True):
            flat: list[Any] = []
            for name, declared in uses:
                value = self._read(name, row)
                if declared is not None:
                    value = as_type(value, declared)
                value = as_type(value, info.dtype)
                flat.extend(value if isinstance(value, tuple) else [value])
            arrays.append(np.array(flat, info.dtype.numpy))
        return arrays

    def _judged(self, step: str, spec: Any, values: Sequence[Any], dtype: DType, row: int) -> Any:
        """One row of one output after the step's policy for numbers that are not finite."""
        given = [_scalar(value) for value in np.ravel(values).tolist()]
        typed = [as_type(value, dtype) for value in given]
        is_odd = [
            isinstance(value, float) and not math.isfinite(value)
            for value in (typed if dtype.is_float else given)
        ]
        policy = spec.get("nan_policy", "pass")
        if not any(is_odd) or policy == "pass":
            return typed
        if policy == "error":
            self.marks[row].add(step)
            return BLANK
        stand_in = as_type(spec.get("nan_default", 0.0), dtype)
        return [stand_in if odd else value for value, odd in zip(typed, is_odd, strict=True)]

    # --- compute ------------------------------------------------------------------------------

    def _run_compute(self, step: str, spec: Any) -> None:
        policy = spec.get("on_error", "skip")
        formula = FORMULAS[spec["compute_id"]]
        output = _declared(spec.get("data_type")) or FP32
        number = np.float64 if output is FP64 else np.float32
        uses = {key.partition("@")[0]: (parse_dtype(key.partition("@")[2]), column)
                for key, column in spec["score_mapping"].items()}  # fmt: skip
        chosen = [uses[variable] for variable in formula.variables]
        ready = [
            row
            for row in range(self.rows)
            if all(self._read(column, row) is not BLANK for _, column in chosen)
        ]
        try:
            with np.errstate(all="ignore"):
                found = self._evaluated(formula, chosen, ready, number)
        except Unconvertible:
            found = None
        is_strict = spec.get("domain_errors") == "fail"
        if found is None or (is_strict and any(value is NO_ANSWER for value in found)):
            self._fail_compute(step, spec, ready, output, policy)
            return
        rows: list[Any] = [BLANK] * self.rows
        for row, value in zip(ready, found, strict=True):
            if value is NO_ANSWER:
                self.marks[row].add(step)
            else:
                judged = self._judged(step, spec, [float(value)], output, row)
                rows[row] = judged if judged is BLANK else judged[0]
        self.columns[f"{step}:{spec['score_column']}"] = Column(output, rows)

    def _evaluated(
        self, formula: Formula, chosen: Sequence[tuple[DType, str]], ready: Sequence[int], kind: Any
    ) -> list[Any]:
        inputs = [
            [kind(as_type(self._read(column, row), declared)) for declared, column in chosen]
            for row in ready
        ]
        if formula.of_row is not None:
            return [formula.of_row(*values) for values in inputs]
        assert formula.of_rows is not None
        return formula.of_rows([values[0] for values in inputs])

    def _fail_compute(
        self, step: str, spec: Any, ready: Sequence[int], output: DType, policy: str
    ) -> None:
        if policy == "fail":
            self.failing.add(step)
            return
        stand_in = as_type(spec.get("nan_default", 0.0), output)
        rows = [
            stand_in if row in ready and policy == "default" else BLANK for row in range(self.rows)
        ]
        for marked in self.marks:
            marked.add(step)
        self.columns[f"{step}:{spec['score_column']}"] = Column(output, rows)


def _declared(use: Any) -> DType | None:
    if isinstance(use, Mapping):
        use = use.get("dtype")
    return parse_dtype(use) if use else None


def _scalar(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _wide(value: Any, dim: int) -> Any:
    """A default of a vector: written out, or one value for every element."""
    if isinstance(value, list):
        return tuple(value)
    return value if dim == 1 else (value,) * dim


def _cut(values: Sequence[Any], at: int, size: int) -> Any:
    return values[at] if size == 1 else tuple(values[at : at + size])
