"""Explanations of what is open in this process: a plan, or a recorded request."""

from __future__ import annotations

from typing import Any

from inferflow.app.explain.item import item_facts
from inferflow.app.explain.plan_text import plan_text
from inferflow.app.explain.planned import plan_facts
from inferflow.app.explain.waterfall import run_facts
from inferflow.engine.recording import Recording
from inferflow.errors import NotFound
from inferflow.explanation import Explanation, item_text, run_text
from inferflow.plan.plan import Plan
from inferflow.plan.problems import nearest
from inferflow.scores import Scores


def explain_plan(plan: Plan) -> Explanation:
    """What a plan does, before any request."""
    facts = plan_facts(plan)
    return Explanation(facts, plan_text(facts))


def explain_recording(
    recording: Recording, scores: Scores | None = None, *, failure: str = ""
) -> Explanation:
    """What happened in one request. Without scores: up to the step at which it failed."""

    def item(target: str) -> Explanation:
        facts = target_facts(recording, scores, target)
        return Explanation(facts, item_text(facts), failure)

    facts = {**run_facts(recording, scores), "failure": failure}
    return Explanation(facts, run_text(facts), failure, item)


def target_facts(recording: Recording, scores: Scores | None, target: str) -> dict[str, Any]:
    """Every row of one target. Raises NotFound when the request had no such target."""
    rows = [row for row, known in enumerate(recording.ids) if known == target]
    if not rows:
        raise NotFound("target", target, nearest=nearest(target, recording.ids))
    return {"item": target, "rows": [item_facts(recording, scores, row) for row in rows]}
