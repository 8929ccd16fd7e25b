"""Says what a plan will do, and what a request did.

- `planned`, `plan_text`: the compiled plan, step by step
- `waterfall`: the facts of one request, step by step; `item`: of one of its targets, column by
  column. Their texts are in `inferflow.explanation`, for those who have the facts alone
- `supply`: the ways a request may bring a column

Each is first plain facts (`to_dict`), then text made of those facts (`str`), so that what a
program reads and what a person reads cannot differ.
"""

from inferflow.app.explain.explanation import explain_plan, explain_recording, target_facts
from inferflow.explanation import Explanation

__all__ = ["Explanation", "explain_plan", "explain_recording", "target_facts"]
