"""placeholder while wiring is tried"""

from dataclasses import dataclass
from typing import Any


@dataclass
class Explanation:
    text: str


def explain_plan(plan: Any) -> Explanation:
    return Explanation(repr(plan))


def explain_recording(recording: Any, scores: Any) -> Explanation:
    return Explanation(repr(recording))
