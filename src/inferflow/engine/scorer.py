"""Answers requests with one plan: bind, run, collect.

Every way in (Python, command line, network) ends here.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from math import isnan
from typing import Any, TypeVar

import numpy as np

from inferflow.dtypes import dtype_of
from inferflow.engine.binding import Binder, Binding
from inferflow.engine.deadline import Clock, Deadline
from inferflow.engine.executor import Component, execute, execute_in_order
from inferflow.engine.limits import Limits
from inferflow.engine.matrix import Matrix
from inferflow.engine.observer import Observer, RequestStats, guarded, mode_of
from inferflow.engine.recording import Recording, StepRecord
from inferflow.engine.request import ScoreRequest, entity_ids, routing_key
from inferflow.engine.run import Run
from inferflow.engine.slates import Slates
from inferflow.errors import EngineFault, InvalidRequest
from inferflow.plan.plan import Column, Plan, Space
from inferflow.scores import ScoreColumn, Scores, Table

T = TypeVar("T")


class Scorer:
    """A plan with its components at work."""

    def __init__(
        self,
        plan: Plan,
        components: Sequence[Component],
        *,
        limits: Limits,
        clock: Clock = time.monotonic,
        new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
        observer: Observer | None = None,
    ) -> None:
        self.plan = plan
        self.is_local = all(component.is_local for component in components)
        """True when a request never waits on anything outside this process."""
        self._components = components
        self._execute = execute_in_order if self.is_local else execute
        self._limits = limits
        self._clock = clock
        self._new_id = new_id
        self._binder = Binder(plan)
        self._observer = None if observer is None else guarded(observer)
        self._named = [(step.name, getattr(step, "kind", "step")) for step in plan.steps]

    def score(
        self, request: ScoreRequest, recording: Recording | None = None
    ) -> Coroutine[Any, Any, Scores]:
        """Answer a request; what happened goes into the recording, when there is one."""
        if self._observer is not None:
            return self._observed(request, recording, self._observer)
        records = None if recording is None else tuple(recording.steps.values())
        return self._answer(request, recording, records)

    async def _answer(
        self,
        request: ScoreRequest,
        recording: Recording | None,
        records: Sequence[StepRecord] | None,
        stats: RequestStats | None = None,
    ) -> Scores:
        run = self._begin(request, recording, records)
        if stats is not None:
            stats.rows = len(run.ids) if run.slates is None else run.slates.count
        await self._execute(self._components, run)
        scores = self._collect(run)
        if self._observer is not None:
            self._observer.request_answered(run)
        if recording is not None:
            recording.total_us = (time.perf_counter() - recording.began) * 1e6
        return scores

    async def _observed(
        self, request: ScoreRequest, recording: Recording | None, observer: Observer
    ) -> Scores:
        began = time.perf_counter()
        records = self._new_records() if recording is None else tuple(recording.steps.values())
        stats = RequestStats(self.plan, mode_of(request), records)
        observer.request_started(self.plan)
        try:
            return await self._answer(request, recording, records, stats)
        except BaseException as failed:
            stats.blame(failed)
            raise
        finally:
            stats.duration_s = time.perf_counter() - began
            observer.request_ended(stats)

    def score_now(self, request: ScoreRequest, recording: Recording | None = None) -> Scores:
        """`score` without an event loop when nothing waits, with one of its own when it does."""
        coroutine = self.score(request, recording)
        return finish(coroutine) if self.is_local else asyncio.run(coroutine)

    def new_recording(self) -> Recording:
        recording = Recording(self.plan)
        recording.steps = {record.name: record for record in self._new_records()}
        return recording

    def _new_records(self) -> list[StepRecord]:
        return [StepRecord(name, kind) for name, kind in self._named]

    def _begin(
        self,
        request: ScoreRequest,
        recording: Recording | None,
        records: Sequence[StepRecord] | None,
    ) -> Run:
        limits = self._limits
        self._check_size(request)
        binding = self._binder.bind(request)
        entities = {name: entity_ids(name, ids, limits) for name, ids in request.entities.items()}
        rows = _row_count(entities)
        run = Run(
            self.plan,
            request,
            binding,
            entities,
            _target_ids(binding, request, entities, rows),
            self._slates(request, rows),
            routing_key(request, entities) or self._new_id(),
            Deadline(_budget(request), clock=self._clock),
            recording,
            records,
        )
        if recording is not None:
            recording.binding = binding
            recording.matrix = run.matrix
            recording.ids = tuple(run.ids)
        return run

    def _check_size(self, request: ScoreRequest) -> None:
        entities, context = request.entities, request.context
        features, slate_features = request.features, request.slate_features
        if not (type(entities) is type(context) is type(features) is type(slate_features) is dict):
            for part in ("entities", "context", "features", "slate_features"):
                _check_object(part, getattr(request, part))
        if not entities:
            raise InvalidRequest("entities", "the request names no entity")
        given = len(context) + len(slate_features)
        for entity, named in features.items():
            _check_object(f"features.{entity}", named)
            given += len(named)
        if given:
            self._limits.check("features", given, "features")

    def _slates(self, request: ScoreRequest, rows: int) -> Slates | None:
        if request.pairs is not None and request.slates is not None:
            raise InvalidRequest("slates", "a request has pairs or slates, not both")
        groups = request.pairs if request.pairs is not None else request.slates
        if groups is None:
            if request.slate_features:
                raise InvalidRequest("slate_features", "there are no pairs or slates to belong to")
            return None
        kind = "pairs" if request.pairs is not None else "slates"
        if not self.plan.has_slate_steps:
            raise InvalidRequest(
                kind,
                f"{self.plan.config_id!r} has no step that scores {kind}",
                "set slate_component on one",
            )
        return Slates.of("pairs" if kind == "pairs" else "slates", groups, rows, self._limits)

    def _collect(self, run: Run) -> Scores:
        plan, slates = self.plan, run.slates
        targets = Table(
            {name: _column(name, column, run.matrix) for name, column in _answered(run)},
            _errors(run, "target"),
        )
        groups = None
        if slates is not None:
            groups = Table(
                {name: _column(name, column, run.matrix) for name, column in plan.response.slates},
                _errors(run, "slate"),
            )
        return Scores(
            config_id=plan.config_id,
            ids=run.ids,
            targets=targets,
            groups=groups,
            grouping=slates.kind if slates else None,
            members=[slates.members(n).tolist() for n in range(slates.count)] if slates else (),
            config_version=plan.digest,
        )


def finish(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine that promises not to wait."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        result: T = ended.value
        return result
    coroutine.close()
    raise EngineFault("a step that calls itself local had to wait")


def _check_object(field: str, given: Any) -> None:
    if not isinstance(given, Mapping):
        raise InvalidRequest(field, f"names with values are wanted, not {type(given).__name__}")


def _budget(request: ScoreRequest) -> float | None:
    given = request.deadline_ms
    if given is None:
        return None
    if isinstance(given, bool) or not isinstance(given, int | float) or isnan(given):
        raise InvalidRequest("deadline_ms", f"{given!r} is not a number of milliseconds")
    if given < 0:
        raise InvalidRequest("deadline_ms", f"{given} ms is in the past")
    return float(given)


def _row_count(entities: Mapping[str, Sequence[str]]) -> int:
    rows = max(map(len, entities.values()))
    for name, ids in entities.items():
        if len(ids) != rows and len(ids) != 1:
            largest = next(other for other, most in entities.items() if len(most) == rows)
            raise InvalidRequest(
                f"entities.{name}",
                f"has {len(ids)} ids while {largest!r} has {rows}",
                "every entity has one id, or as many as there are targets",
            )
    return rows


def _target_ids(
    binding: Binding, request: ScoreRequest, entities: Mapping[str, list[str]], rows: int
) -> list[str]:
    """Ids of the entity that is being ranked: as the config says, else the one with many ids,
    else the one given as a list; the last, where that leaves several."""
    name = binding.id_entity
    if name is None and len(entities) == 1:
        (name,) = entities
    if name is None:
        many = [e for e, ids in entities.items() if len(ids) == rows > 1]
        listed = [e for e in entities if not isinstance(request.entities[e], str | int)]
        name = (many or listed or list(entities))[-1]
    ids = entities[name]
    return ids if len(ids) == rows else ids * rows


def _answered(run: Run) -> Iterable[tuple[str, Column]]:
    """The target columns of the answer. An input given per slate has no place among targets."""
    response, wants_inputs = run.plan.response, run.request.wants_inputs
    if wants_inputs is None or not wants_inputs(run.routing_key):
        return response.targets
    return [(name, column) for name, column in response.full if run.matrix.is_filled(column.block)]


def _column(name: str, column: Column, matrix: Matrix) -> ScoreColumn:
    values = matrix.column(column)
    rows = matrix.rows if column.space == "target" else matrix.slates
    if len(values) != rows:
        values = np.broadcast_to(values, (rows, *values.shape[1:]))
    return ScoreColumn(name, column.dtype or dtype_of(values), values, matrix.blank(column))


def _errors(run: Run, space: Space) -> list[str]:
    if run.has_marks:
        return run.errors(space)
    return [""] * (run.matrix.rows if space == "target" else run.matrix.slates)
