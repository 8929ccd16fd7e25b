"""Says what a plan will do, and what a request did.

- `planned`, `plan_text`: the compiled plan, step by step
- `waterfall`: one request, step by step; `item`: one of its targets, column by column
- `supply`: the ways a request may bring a column

Each is first plain facts (`to_dict`), then text made of those facts (`str`), so that what a
program reads and what a person reads cannot differ.
"""

from inferflow.app.explain.explanation import Explanation, explain_plan, explain_recording

__all__ = ["Explanation", "explain_plan", "explain_recording"]
