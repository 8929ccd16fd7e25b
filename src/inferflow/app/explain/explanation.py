"""What `explain` answers: facts, and the text that says them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from inferflow.app.explain.item import item_facts, item_text
from inferflow.app.explain.plan_text import plan_text
from inferflow.app.explain.planned import plan_facts
from inferflow.app.explain.waterfall import run_facts, run_text
from inferflow.engine.recording import Recording
from inferflow.errors import InvalidInput, NotFound
from inferflow.plan.plan import Plan
from inferflow.plan.problems import nearest
from inferflow.scores import Scores


@dataclass(frozen=True, slots=True, repr=False)
class Explanation:
    """Look at it, or read its facts with `to_dict()`."""

    _facts: Mapping[str, Any]
    _text: str
    failure: str = ""
    """Why the request explained here was not answered; empty when it was."""
    _items: Callable[[str], Explanation] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The facts as plain values, ready for JSON."""
        return dict(self._facts)

    def item(self, target: object) -> Explanation:
        """Every column of one target: its value, where it came from and how real it is."""
        if self._items is None:
            raise InvalidInput("only an explained request has items; give explain a request")
        return self._items(str(target))

    def __repr__(self) -> str:
        """The text, so that a prompt and a notebook show it as it is."""
        return self._text


def explain_plan(plan: Plan) -> Explanation:
    """What a plan does, before any request."""
    facts = plan_facts(plan)
    return Explanation(facts, plan_text(facts))


def explain_recording(
    recording: Recording, scores: Scores | None = None, *, failure: str = ""
) -> Explanation:
    """What happened in one request. Without scores: up to the step at which it failed."""

    def item(target: str) -> Explanation:
        rows = [row for row, known in enumerate(recording.ids) if known == target]
        if not rows:
            raise NotFound("target", target, nearest=nearest(target, recording.ids))
        facts = {"item": target, "rows": [item_facts(recording, scores, row) for row in rows]}
        return Explanation(facts, item_text(facts), failure)

    facts = {**run_facts(recording, scores), "failure": failure}
    return Explanation(facts, run_text(facts), failure, item)
