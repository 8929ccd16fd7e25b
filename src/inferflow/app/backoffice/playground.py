"""Scores a request without a trace, as it is and as it would be.

Beside the answer comes what happened on the way: the steps, the matrix they filled, and for one
target every value and where it came from. With overrides the same request is scored twice, the
second time with other values, other model versions or another config text; the first is the
baseline to compare with.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from inferflow.api.gateway.score_json import answer
from inferflow.app.backoffice.bench import Bench, Benches
from inferflow.app.backoffice.grown import grown_matrix
from inferflow.app.backoffice.other_versions import other_versions
from inferflow.app.backoffice.overriding import Overriding, overriding, wishes_of
from inferflow.app.backoffice.read_once import OnceReader
from inferflow.app.backoffice.what_if import InsteadReader
from inferflow.app.catalog import CatalogModels
from inferflow.app.explain import target_facts
from inferflow.app.explain.waterfall import run_facts
from inferflow.configstore.folder import documents_of
from inferflow.engine.recording import Recording
from inferflow.engine.request import ScoreRequest, request_from
from inferflow.engine.scorer import Scorer
from inferflow.errors import InferflowError, InvalidRequest, NotFound, PlanRejected
from inferflow.plan.document import read_document
from inferflow.plan.plan import Plan
from inferflow.scores import Scores

MOST_MS = 10_000.0
"""Nobody waits for longer in front of a page."""
AT_ONCE = 1
"""Others wait their turn: whoever serves beside this needs the processor more."""
_GOLDEN = ("expect", "tolerance")

Facts = dict[str, Any]


@dataclass(frozen=True, slots=True)
class _Played:
    scores: Scores
    recording: Recording


class BenchPlayground:
    """Implements `api.gateway.management.ports.Playground`."""

    def __init__(self, benches: Benches) -> None:
        self._benches = benches
        self._room = asyncio.Semaphore(AT_ONCE)

    async def samples(self, config_id: str) -> list[Facts]:
        bench = await asyncio.to_thread(self._benches.bench)
        return await asyncio.to_thread(_samples, bench, config_id)

    async def play(
        self, config_id: str, request: Facts, *, item: str | None, overrides: Facts
    ) -> Facts:
        asked = _bounded(request_from(request, config_id=config_id))
        async with self._room:
            return await self._play(asked, item, overrides)

    async def _play(self, asked: ScoreRequest, item: str | None, overrides: Facts) -> Facts:
        bench = await asyncio.to_thread(self._benches.bench)
        plan, arm = bench.picked(asked)
        once = OnceReader(bench.ports.features)
        scorer = await asyncio.to_thread(bench.scorer, plan, features=once)
        baseline = await _played(scorer, asked, arm)
        if not any(overrides.values()):
            return await asyncio.to_thread(_told, baseline, None, asked, item, None)
        changed, played = await _overridden(bench, plan, asked, baseline, overrides, once)
        return await asyncio.to_thread(_told, played, baseline, asked, item, changed)


# --- scoring --------------------------------------------------------------------------------


def _bounded(request: ScoreRequest) -> ScoreRequest:
    given = request.deadline_ms
    if given is None or (isinstance(given, int | float) and given > MOST_MS):
        return replace(request, deadline_ms=MOST_MS)
    return request


async def _played(scorer: Scorer, request: ScoreRequest, arm: str) -> _Played:
    recording = scorer.new_recording()
    recording.arm = arm
    if scorer.is_local:
        scores = await asyncio.to_thread(scorer.score_now, request, recording)
    else:
        scores = await scorer.score(request, recording)
    if arm:
        scores.config_id, scores.arm = request.config_id, arm
    return _Played(scores, recording)


async def _overridden(
    bench: Bench,
    plan: Plan,
    request: ScoreRequest,
    before: _Played,
    overrides: Facts,
    once: OnceReader,
) -> tuple[Overriding, _Played]:
    """The request scored as the overrides say, on the features of the run before."""
    arm = before.recording.arm
    models: CatalogModels | None = None
    if overrides.get("text") or overrides.get("models"):
        plan, models = await asyncio.to_thread(_replanned, bench, plan, overrides)
        scorer = await asyncio.to_thread(bench.scorer, plan, models=models, features=once)
        before = await _played(scorer, request, arm)
    wishes = wishes_of(overrides.get("values") or ())
    changed = overriding(wishes, request, before.recording)
    if not wishes:
        return changed, before
    reader = InsteadReader(once, changed.instead)
    scorer = await asyncio.to_thread(bench.scorer, plan, models=models, features=reader)
    return changed, await _played(scorer, changed.request, arm)


def _replanned(bench: Bench, plan: Plan, overrides: Facts) -> tuple[Plan, CatalogModels | None]:
    """The plan of another text, or of other models. Raises PlanRejected."""
    config_id, text = plan.config_id, overrides.get("text")
    content = bench.written(config_id).content if not text else _content(text, config_id)
    models: CatalogModels | None = None
    if text:
        plan = _planned(bench, config_id, content, None)
    if wanted := overrides.get("models"):
        models = other_versions(plan, wanted, bench.models)
        plan = _planned(bench, config_id, content, models)
    return plan, models


def _planned(bench: Bench, config_id: str, content: object, models: CatalogModels | None) -> Plan:
    compiled = bench.compiled(config_id, content, models)
    if compiled.plan is None:
        if compiled.split is not None:
            raise InvalidRequest("overrides.text", "a split of traffic has no plan of its own")
        raise PlanRejected(config_id, compiled.errors)
    return compiled.plan


def _content(text: str, config_id: str) -> object:
    """The config a text holds, in either format."""
    is_json = text.lstrip().startswith("{")
    found = {
        each.id: each.content
        for each in documents_of(
            text, "json" if is_json else "yaml", stem=config_id, file="overrides.text"
        )
    }
    if config_id not in found:
        raise InvalidRequest("overrides.text", f"holds {', '.join(found)}, not {config_id!r}")
    return found[config_id]


# --- telling --------------------------------------------------------------------------------


def _told(
    played: _Played,
    baseline: _Played | None,
    request: ScoreRequest,
    item: str | None,
    changed: Overriding | None,
) -> Facts:
    recording, scores = played.recording, played.scores
    return {
        "answer": _answer(scores, request),
        "baseline": None if baseline is None else _answer(baseline.scores, request),
        "run": {**run_facts(recording, scores), "failure": ""},
        "item": None if item is None else _item(played, item, changed),
        "matrix": grown_matrix(recording),
    }


def _answer(scores: Scores, request: ScoreRequest) -> Facts:
    told = answer(scores, request.tracking_id)
    del told["recording"]  # nothing is kept of what is only tried
    return told


def _item(played: _Played, item: str, changed: Overriding | None) -> Facts:
    try:
        facts = target_facts(played.recording, played.scores, item)
    except NotFound as absent:
        raise InvalidRequest("item", str(absent)) from None
    keys = {} if changed is None else {c.name: (c.step, key) for c, key in changed.columns.items()}
    for row in facts["rows"]:
        for column in row["columns"]:
            if column["column"] in keys and _is_meant(played, row["row"], *keys[column["column"]]):
                column.update(state="pinned", source="what if")
                column.pop("age_s", None)
    return facts


def _is_meant(played: _Played, row: int, step: str, key: tuple[str, ...] | None) -> bool:
    read = played.recording.steps[step].read
    position = None if read is None else read.position(row)
    if key is None or read is None or position is None:
        return key is None
    return tuple(part[position] for part in read.keys) == key


def _samples(bench: Bench, config_id: str) -> list[Facts]:
    """The project's requests of a config, without what they expect. One that cannot be read is
    left out; `inferflow validate` reports it."""
    found: list[Facts] = []
    for name, path in bench.project.requests():
        try:
            document = read_document(path)
        except InferflowError:
            continue
        if not isinstance(document, Mapping):
            continue
        if not config_id or document.get("model_config_id") == config_id:
            request = {key: each for key, each in document.items() if key not in _GOLDEN}
            found.append({"name": name, "request": request})
    return found
