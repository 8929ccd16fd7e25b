"""Plans put to work: every good one serves, a bad one leaves in place what served before.

What did not change is not made again: a plan with the digest of the one at work keeps that
very scorer, with its buffers and bindings. Nothing of the book that is in use is touched.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from inferflow.components.assemble import Ports, assemble
from inferflow.engine.limits import Limits
from inferflow.engine.observer import Observer
from inferflow.engine.scorer import Scorer
from inferflow.errors import InferflowError
from inferflow.plan.book import LiveSplit, PlanBook
from inferflow.plan.compiler import Compiled
from inferflow.plan.problems import Problem
from inferflow.plan.split import KEY, Split

Book = PlanBook[Scorer]
NOTHING: Book = PlanBook()


def open_book(
    compiled: Mapping[str, Compiled],
    ports: Ports,
    limits: Limits,
    *,
    last: Book = NOTHING,
    observer: Observer | None = None,
) -> Book:
    """The next book. Its status has every problem, those met on the way included."""
    live: dict[str, Scorer] = {}
    splits: dict[str, LiveSplit[Scorer]] = {}
    status = dict(compiled)
    for config_id, result in compiled.items():
        before = last.live.get(config_id)
        if result.plan is not None:
            if before is not None and before.plan.digest == result.plan.digest:
                live[config_id] = before
                continue
            try:
                components = assemble(result.plan, ports)
            except InferflowError as refused:
                status[config_id] = _with(result, Problem("plan", str(refused)))
            else:
                live[config_id] = Scorer(result.plan, components, limits=limits, observer=observer)
                continue
        if before is not None and result.split is None:
            live[config_id] = before
    for config_id, result in compiled.items():
        if config_id in live:
            continue
        old = last.splits.get(config_id)
        if result.split is not None and not result.errors:
            found = live_split(result.split, live, old)
            if isinstance(found, LiveSplit):
                splits[config_id] = found
                continue
            status[config_id] = _with(result, found)
        kept = None if old is None else live_split(old.split, live, old)
        if isinstance(kept, LiveSplit):
            splits[config_id] = kept
        elif config_id in last.live:
            live[config_id] = last.live[config_id]
    return PlanBook(live, status, splits)


def live_split(
    split: Split, live: Mapping[str, Scorer], old: LiveSplit[Scorer] | None
) -> LiveSplit[Scorer] | Problem:
    """A split over what serves its arms now, or served them last; or why there is none."""
    before = {} if old is None else dict(zip(old.split.arms, old.arms, strict=False))
    arms: list[Scorer] = []
    for arm in split.arms:
        found = live.get(arm) or before.get(arm)
        if found is None:
            return Problem(f"{KEY}[{arm!r}]", "this config cannot serve", "see its own problems")
        arms.append(found)
    return LiveSplit(split, tuple(arms))


def _with(result: Compiled, problem: Problem) -> Compiled:
    return replace(result, plan=None, split=None, problems=(*result.problems, problem))
