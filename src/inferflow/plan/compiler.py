"""Compiles a config into a plan, or into everything that is wrong with it.

Pure: the same spec and catalog give the same plan. First every step declares the columns it
writes, then names are resolved, then steps are put together. Problems are collected all the
way, so that one look shows all of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from inferflow.plan.catalog import Catalog
from inferflow.plan.columns import ColumnBook
from inferflow.plan.compile_compute import ComputeCompiler
from inferflow.plan.compile_feature import FeatureCompiler
from inferflow.plan.compile_model import ModelCompiler
from inferflow.plan.direction import WHERE as EDGES
from inferflow.plan.graph import ancestors, find_cycles, levels, reverse, topological_order
from inferflow.plan.normalise import normalise
from inferflow.plan.plan import Column, InitStep, LogPlan, Plan, Response, Step
from inferflow.plan.problems import Problem, Problems, closest_hint
from inferflow.plan.spec import (
    CONTEXT,
    INIT,
    ComputeStepSpec,
    ConfigSpec,
    FeatureStepSpec,
    ModelStepSpec,
    StepSpec,
    Use,
)
from inferflow.plan.split import Split, is_split, read_split
from inferflow.plan.step_compiler import StepCompiler

AnyCompiler = StepCompiler[Any]


@dataclass(frozen=True, slots=True)
class Compiled:
    """A plan, or the problems that kept it from being one. Notes come with either."""

    config_id: str
    plan: Plan | None
    problems: tuple[Problem, ...]
    split: Split | None = None
    """Set instead of a plan when the id stands for other configs."""

    @property
    def errors(self) -> tuple[Problem, ...]:
        return tuple(problem for problem in self.problems if problem.is_error)


def compile_config(config_id: str, written: Any, catalog: Catalog) -> Compiled:
    """Compile what was written under this id, in either shape."""
    if is_split(written):
        split, wrong = read_split(config_id, written)
        return Compiled(config_id, None, tuple(wrong), split)
    spec, problems = normalise(config_id, written)
    if spec is None:
        return Compiled(config_id, None, tuple(problems))
    return compile_spec(spec, catalog, problems)


def compile_spec(spec: ConfigSpec, catalog: Catalog, problems: Problems | None = None) -> Compiled:
    problems = Problems(problems or ())
    for cycle in find_cycles(spec.feeds):
        path = " → ".join(cycle)
        hint = f"nothing comes before {INIT!r}" if INIT in cycle else "remove one of these edges"
        problems.error(EDGES, f"the graph has a cycle: {path}", hint)
    above = {step: {INIT, *over} for step, over in ancestors(spec.feeds).items()}
    book = ColumnBook(above, problems)
    compilers = {
        name: _compiler(step, spec, catalog, book, problems) for name, step in spec.steps.items()
    }
    for compiler in compilers.values():
        compiler.declare()
    for compiler in compilers.values():
        compiler.want()
    response_uses = _response_uses(spec)
    for use in response_uses:
        book.want(use, reader=None)
    book.place_requested()
    steps = _ordered_steps(spec, compilers, book)
    response = _response(spec, book, compilers, problems)
    log = _log(spec, book, compilers)
    _check_id_column(spec.id_column, book, problems)
    if problems.errors:
        return Compiled(spec.id, None, tuple(problems))
    # Not before: a column whose writer has an error only looks as if the request had to bring it.
    _note_requested(book, problems)
    read_blocks = _blocks_read(steps, [response.targets, response.full, log.columns])
    steps = tuple(
        compilers[step.name].prune(step, read_blocks) if step.name in compilers else step
        for step in steps
    )
    plan = Plan(
        config_id=spec.id,
        digest=_digest(spec, compilers.values()),
        blocks=tuple(book.blocks),
        steps=steps,
        columns=book.all_names(),
        request_columns=tuple(book.request_columns),
        response=response,
        log=log,
        id_column=spec.id_column,
        value_encoding=spec.value_encoding,
        error_logging_percent=spec.error_logging_percent,
        readings=(*spec.readings, *(r for c in compilers.values() for r in c.readings)),
        notes=tuple(problem for problem in problems if not problem.is_error),
    )
    return Compiled(spec.id, plan, tuple(problems))


def _compiler(
    step: StepSpec, spec: ConfigSpec, catalog: Catalog, book: ColumnBook, problems: Problems
) -> AnyCompiler:
    if isinstance(step, FeatureStepSpec):
        return FeatureCompiler(step, spec, catalog, book, problems)
    if isinstance(step, ModelStepSpec):
        return ModelCompiler(step, spec, catalog, book, problems)
    assert isinstance(step, ComputeStepSpec)
    return ComputeCompiler(step, spec, catalog, book, problems)


def _ordered_steps(
    spec: ConfigSpec, compilers: Mapping[str, AnyCompiler], book: ColumnBook
) -> tuple[Step, ...]:
    order = topological_order(spec.feeds)
    # Steps on a cycle have no place in it; they are compiled only for their own problems.
    order += [name for name in spec.feeds if name not in order]
    index = {name: i for i, name in enumerate(order)}
    needs, level = reverse(spec.feeds), levels(spec.feeds)
    steps: list[Step] = []
    for name in order:
        place: dict[str, Any] = {
            "name": name,
            "index": index[name],
            "level": level[name],
            "needs": tuple(sorted(index[parent] for parent in needs[name])),
            "feeds": tuple(sorted(index[child] for child in spec.feeds[name])),
        }
        if name == INIT:
            writes = tuple(
                column
                for requested in book.request_columns
                for column in (requested.target, requested.slate)
                if column is not None
            )
            steps.append(
                InitStep(**place, on_error="fail", timeout_ms=None, writes=writes, reads=())
            )
        else:
            steps.append(compilers[name].compile(place))
    return tuple(steps)


def _response_uses(spec: ConfigSpec) -> list[Use]:
    uses = [
        Use(name, f"response_config.features[{i}]") for i, name in enumerate(spec.response.features)
    ]
    return uses + [
        Use(name, f"response_config.log_features[{i}]")
        for i, name in enumerate(spec.response.log_features or ())
    ]


def _response(
    spec: ConfigSpec, book: ColumnBook, compilers: Mapping[str, AnyCompiler], problems: Problems
) -> Response:
    targets: list[tuple[str, Column]] = []
    slates: list[tuple[str, Column]] = []
    names = spec.response.features
    for name in {name for name in names if names.count(name) > 1}:
        problems.error("response_config.features", f"{name!r} is listed twice")
    for i, name in enumerate(names):
        target, slate = book.resolve(Use(name, f"response_config.features[{i}]"), reader=None)
        if slate is not None:
            slates.append((name, slate))
        elif target is not None:
            targets.append((name, target))
    full: dict[str, Column] = {}
    for compiler in compilers.values():
        if isinstance(compiler, ModelCompiler):
            inputs = compiler.input_columns().items()
            full.update({name: column for name, column in inputs if column.space == "target"})
    full.update({name: column for name, column in targets if name not in full})
    return Response(
        tuple(targets), tuple(slates), tuple(full.items()), spec.response.model_schema_perc
    )


def _log(spec: ConfigSpec, book: ColumnBook, compilers: Mapping[str, AnyCompiler]) -> LogPlan:
    if spec.response.log_features is None:
        columns, inputs = _all_logged(compilers)
    else:
        columns = _chosen_for_the_log(spec.response.log_features, book)
        inputs = {name for name, column in columns.items() if column.step == INIT}
    return LogPlan(
        tuple(columns.items()),
        spec.response.logging_perc,
        spec.response.log_batch_size,
        spec.cache_version,
        frozenset(inputs),
    )


def _chosen_for_the_log(names: Iterable[str], book: ColumnBook) -> dict[str, Column]:
    chosen: dict[str, Column] = {}
    for name in names:
        target, slate = book.resolve(Use(name, ""), reader=None)
        found = target or slate
        if found is not None:
            chosen[name] = found
    return chosen


def _all_logged(compilers: Mapping[str, AnyCompiler]) -> tuple[dict[str, Column], set[str]]:
    """Features, compute scores, model scores, then whatever they read: the order of the original's
    schema. And which of them are only read."""
    features, computed, models = (
        [each for each in compilers.values() if isinstance(each, kind)]
        for kind in (FeatureCompiler, ComputeCompiler, ModelCompiler)
    )
    written = {
        column.name: column
        for compiler in (*features, *computed, *models)
        for column in compiler.logged()
    }
    only_read = {
        column.name: column
        for compiler in (*computed, *models)
        for column in compiler.input_columns().values()
        if column.name not in written
    }
    return {**written, **only_read}, set(only_read)


def _check_id_column(name: str, book: ColumnBook, problems: Problems) -> None:
    """Ids that are only labels may have any name; but a name that nothing knows may be misspelt."""
    keys = [column.name for column in book.request_columns if column.role == "key"]
    parts = {part for key in keys for part in key.removeprefix(CONTEXT).split(":")}
    known = {*keys, *parts, *(part.removesuffix("_id") for part in parts)}
    if not name or not keys or name in book.all_names():
        return
    if not known.isdisjoint(name.removeprefix(CONTEXT).split(":")):
        return
    problems.note("id_column", f"no step looks anything up by {name!r}", closest_hint(name, known))


def _note_requested(book: ColumnBook, problems: Problems) -> None:
    for requested in book.request_columns:
        if requested.role == "value" and requested.wheres:
            optional = "" if requested.default is None else f", else {requested.default!r} is used"
            problems.note(
                requested.wheres[0],
                f"column {requested.name!r} is written by no step: "
                f"the request must bring it{optional}",
            )


def _blocks_read(
    steps: Iterable[Step], named: Iterable[Iterable[tuple[str, Column]]]
) -> frozenset[int]:
    read = {column.block for step in steps for column in step.reads}
    return frozenset(read | {column.block for columns in named for _, column in columns})


def _digest(spec: ConfigSpec, compilers: Iterable[AnyCompiler]) -> str:
    parts = [repr(spec), *(fact for compiler in compilers for fact in compiler.facts)]
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()
