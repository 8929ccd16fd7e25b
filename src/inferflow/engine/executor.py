"""Runs a compiled plan for one request.

A step starts as soon as the steps it needs have ended. Local steps finish without suspending
and are run inline, so a plan of only local steps never touches an event loop; steps that
really wait become tasks. The executor owns deadlines and failure policy, and knows nothing
about features or models.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from math import inf
from typing import Protocol

from inferflow.engine.run import Run
from inferflow.errors import DeadlinePassed, EngineFault, InferflowError, InvalidRequest, StepFailed
from inferflow.plan.plan import Step
from inferflow.tracing import running_step


class Component(Protocol):
    """A DAG node at work. `run` fills the step's blocks or raises."""

    @property
    def step(self) -> Step: ...

    @property
    def is_local(self) -> bool: ...

    async def run(self, run: Run) -> None: ...

    def fill_defaults(self, run: Run) -> None:
        """Fill the step's blocks with declared defaults, after `run` failed."""
        ...

    def leave_blank(self, run: Run) -> None:
        """Fill the step's blocks with rows that have no value, after `run` failed."""
        ...


async def execute_in_order(components: Sequence[Component], run: Run) -> None:
    """Run one component after the other, apply their failure policies, and note what happened
    where that is watched. No step starts after the request's deadline."""
    records, recording, deadline = run.records, run.recording, run.deadline
    is_hurried = deadline.at != inf
    record = None
    for component in components:
        began = time.perf_counter()
        if records is not None:
            record = records[component.step.index]
            record.began = began
            if recording is not None:
                record.start_us = (began - recording.began) * 1e6
        if is_hurried and deadline.is_past():
            raise _late(run)
        try:
            await component.run(run)
        except asyncio.CancelledError as stopped:
            if record is not None:
                record.failure = type(stopped).__name__
            raise
        except Exception as cause:  # the boundary of a step: its policy decides what an error means
            if record is not None:
                record.error, record.failure = str(cause), type(cause).__name__
            _apply_policy(component, run, cause, (time.perf_counter() - began) * 1e3)
        finally:
            if record is not None:
                record.duration_us = (time.perf_counter() - began) * 1e6


async def execute_concurrently(components: Sequence[Component], run: Run) -> None:
    """Run every component as soon as those it needs have ended, as `execute_in_order` runs one.
    Components come in the plan's own order."""
    waiting = [len(component.step.needs) for component in components]
    ready = [i for i, count in enumerate(waiting) if count == 0]
    running: dict[asyncio.Task[None], int] = {}
    try:
        while ready or running:
            ended = await _start_ready(components, run, ready, running) if ready else ()
            for i in ended or await _wait_for_one(running, run):
                for child in components[i].step.feeds:
                    waiting[child] -= 1
                    if waiting[child] == 0:
                        ready.append(child)
    finally:
        for task in running:
            task.cancel()
        if running:
            await asyncio.gather(*running, return_exceptions=True)


async def _start_ready(
    components: Sequence[Component],
    run: Run,
    ready: list[int],
    running: dict[asyncio.Task[None], int],
) -> Sequence[int]:
    """Start all that wait on others, so that they are on their way during local work; then do the
    first local one and say which. Further ones stay ready: it may have made way for more that wait.
    """
    local = []
    for i in ready:
        if components[i].is_local:
            local.append(i)
        else:
            running[asyncio.ensure_future(_execute_apart(components[i], run))] = i
    has_started = len(local) < len(ready)
    ready[:] = local[1:]
    if local:
        if has_started:
            await asyncio.sleep(0)  # a task sets out only when the loop gets a turn
        await execute_in_order((components[local[0]],), run)
    return local[:1]


async def _wait_for_one(running: dict[asyncio.Task[None], int], run: Run) -> Sequence[int]:
    """Wait until at least one has ended, and say which. Ports keep deadlines themselves; the one
    here is for those that do not."""
    left_s = run.deadline.remaining_s()
    done, _ = await asyncio.wait(
        running,
        timeout=None if left_s == inf else left_s,
        return_when=asyncio.FIRST_COMPLETED,
    )
    if not done:
        raise _late(run)
    ended = []
    for task in done:
        ended.append(running.pop(task))
        task.result()
    return ended


async def _execute_apart(component: Component, run: Run) -> None:
    """One that waits, in a task of its own; calls it makes can tell which step they are for."""
    running_step.set(component.step.name)
    await execute_in_order((component,), run)


def _apply_policy(component: Component, run: Run, cause: Exception, elapsed_ms: float) -> None:
    step = component.step
    if isinstance(cause, InvalidRequest | EngineFault):
        raise cause
    if run.deadline.is_past():
        raise _late(run) from cause
    if not isinstance(cause, InferflowError):
        cause = _unexpected(cause)
    if step.on_error == "fail":
        raise StepFailed(step.name, step.kind, cause, elapsed_ms) from cause
    run.mark(step, None, str(cause), space=step.writes[0].space if step.writes else "target")
    if step.on_error == "default":
        component.fill_defaults(run)
    else:
        component.leave_blank(run)


def _late(run: Run) -> DeadlinePassed:
    return DeadlinePassed(f"request for {run.plan.config_id!r}", run.deadline.budget_ms)


def _unexpected(cause: Exception) -> InferflowError:
    fault = EngineFault(f"{type(cause).__name__}: {cause}")
    fault.__cause__ = cause
    return fault
