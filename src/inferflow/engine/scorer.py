"""Answers requests with one plan: bind, run, collect.

Every way in (Python, command line, network) ends here.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from inferflow.dtypes import dtype_of
from inferflow.engine.binding import Binder
from inferflow.engine.deadline import Clock, Deadline
from inferflow.engine.executor import Component, execute_concurrently, execute_in_order
from inferflow.engine.intake import budget_ms, check_parts, row_count, slates_of, target_ids
from inferflow.engine.limits import Limits
from inferflow.engine.matrix import Matrix
from inferflow.engine.observer import Observer, RequestStats, guarded, mode_of
from inferflow.engine.recording import Recording, StepRecord
from inferflow.engine.request import ScoreRequest, entity_ids, routing_key
from inferflow.engine.run import Run
from inferflow.errors import EngineFault
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
        self._execute = execute_in_order if self.is_local else execute_concurrently
        self._limits = limits
        self._clock = clock
        self._new_id = new_id
        self._binder = Binder(plan)
        self._observer = None if observer is None else guarded(observer)
        self._named = [(step.name, step.kind) for step in plan.steps]

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
        check_parts(request, limits)
        binding = self._binder.bind(request)
        entities = {name: entity_ids(name, ids, limits) for name, ids in request.entities.items()}
        rows = row_count(entities)
        run = Run(
            self.plan,
            request,
            binding,
            entities,
            target_ids(binding, request, entities, rows),
            slates_of(request, self.plan, rows, limits),
            routing_key(request, entities) or self._new_id(),
            Deadline(budget_ms(request), clock=self._clock),
            recording,
            records,
        )
        if recording is not None:
            recording.binding = binding
            recording.matrix = run.matrix
            recording.ids = tuple(run.ids)
        return run

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
