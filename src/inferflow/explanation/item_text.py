"""One target of a request as text: its scores, then every column with where it came from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inferflow.tabular import cell_text, duration_text, table

BLANK = "blank"
"""The state of a column without a value."""


def item_text(facts: Mapping[str, Any]) -> str:
    return "\n\n".join(_row_text(facts["item"], row) for row in facts["rows"])


def _row_text(item: str, facts: Mapping[str, Any]) -> str:
    lines = [f"{item}: target {facts['row'] + 1} of {facts['of']}"]
    lines += table(
        ["", ""], [[name, cell_text(value)] for name, value in facts["scores"].items()], indent=2
    )[1:]
    if facts["error"]:
        lines += [f"  error: {facts['error']}"]
    rows: list[list[Any] | str] = []
    step = None
    for column in facts["columns"]:
        if column["step"] != step:
            step = column["step"]
            rows.append(step)
        age = column.get("age_s")
        rows.append(
            [
                column["column"],
                cell_text(column["value"]),
                column["dtype"],
                state_text(column),
                None if age is None else duration_text(age),
                column["source"],
            ]
        )
    lines += ["", *table(["column", "value", "type", "state", "age", "from"], rows, indent=2)]
    for grouping in ("pairs", "slates"):
        for group in facts.get(grouping, ()):
            lines += ["", f"{grouping[:-1]} {group['number']}: {', '.join(group['members'])}"]
            lines += [f"  {name}  {cell_text(v)}" for name, v in group["columns"].items()]
            lines += [f"  error: {group['error']}"] if group["error"] else []
    return "\n".join(lines)


def state_text(column: Mapping[str, Any]) -> str:
    """`real`, or what stands in: `missing, default used`."""
    state = str(column["state"])
    if "has_default" not in column or state == BLANK:
        return state
    if not column["has_default"]:
        return f"{state}, no default declared"
    return state if state == "default" else f"{state}, default used"
