"""One request as a waterfall: a line per step, and what it met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from inferflow.tabular import counted, table

BAR = 32
"""Characters a whole request takes in the waterfall."""


def run_text(facts: Mapping[str, Any]) -> str:
    total = facts["total_us"]
    lines = [
        f"{facts['model_config_id']}: {counted(facts['targets'], facts['unit'])} "
        f"in {total:,.0f} µs, version {facts['config_version'][:12]}",
        "",
    ]
    if facts["failure"]:
        lines[1:] = [f"failed: {facts['failure']}", ""]
    rows = [
        [
            step["step"],
            None if step["start_us"] is None else round(step["start_us"]),
            round(step["duration_us"]),
            bar(step["start_us"] or 0.0, step["duration_us"], total) if step["duration_us"] else "",
            ", ".join(_remarks(step)),
        ]
        for step in facts["steps"]
    ]
    lines += table(["step", "start µs", "time µs", "", ""], rows)
    if facts["bound"]:
        lines += ["", "from the request"]
        lines += table(
            ["column", "taken from", "because of"],
            [[each["column"], each["from"], each["rule"]] for each in facts["bound"]],
            indent=2,
        )
    if facts["unused"]:
        lines += ["", f"not used: {', '.join(facts['unused'])}"]
    for name, errors in facts["errors"].items():
        lines += ["", f"{name} with errors"]
        lines += [f"  {count}: {error}" for error, count in errors.items()]
    return "\n".join(lines)


def bar(start_us: float, duration_us: float, total_us: float) -> str:
    """A step's place in the whole request; at least one mark wide."""
    scale = BAR / max(total_us, start_us + duration_us, 1e-9)
    begin = min(int(start_us * scale), BAR - 1)
    length = max(1, round(duration_us * scale))
    return " " * begin + "█" * min(length, BAR - begin)


def _remarks(step: Mapping[str, Any]) -> Iterator[str]:
    if step["skipped"]:
        yield f"skipped: {step['skipped']}"
        return
    yield counted(step["rows"], step["unit"])
    if step.get("unique_keys") is not None:
        yield counted(step["unique_keys"], "key")
    if step.get("cache_hits") is not None:
        yield counted(step["cache_hits"], "cache hit")
    if step.get("without_key"):
        yield f"{step['without_key']} without a key"
    for group, reasons in step.get("stand_ins", {}).items():
        for why, rows in reasons.items():
            yield f"{group}: {rows} {why}"
    if step.get("pinned"):
        yield f"given by the request: {', '.join(step['pinned'])}"
    if step.get("answered_by"):
        yield f"{step['endpoint']} {step['answered_by']}"
        yield counted(step["batches"], "batch")
    elif step.get("endpoint"):
        yield f"by {step['endpoint']}"
    if step.get("nans"):
        yield f"{step['nans']} not finite"
    if step.get("blank"):
        yield f"{step['blank']} without a score"
    if step["error"]:
        yield f"error: {step['error']}"
