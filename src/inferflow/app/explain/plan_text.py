"""A plan's facts as text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from textwrap import wrap
from typing import Any

from inferflow.tabular import cell_text, counted, duration_text, table

WIDTH = 96
"""Characters after which a list of columns goes on in the next line."""


def plan_text(facts: Mapping[str, Any]) -> str:
    steps = facts["steps"]
    levels = len({step["level"] for step in steps})
    head = (
        f"{facts['model_config_id']}: {counted(len(steps), 'step')} on {counted(levels, 'level')}"
    )
    lines = [f"{head}, version {facts['config_version'][:12]}"]
    for level, members in groupby(
        sorted(steps, key=lambda step: int(step["level"])), key=lambda step: step["level"]
    ):
        lines += ["", f"level {level}"]
        for step in members:
            lines += _step_lines(step)
    lines += ["", "the request brings"]
    rows = [_requested_row(requested) for requested in facts["request_columns"]]
    lines += table(["column", "as", "type", "default", "give it as"], rows, indent=2)
    lines += ["", "the answer has"]
    answered = [[column["column"], column["dtype"], column["per"]] for column in facts["response"]]
    lines += table(["column", "type", "one per"], answered, indent=2)
    for title in ("readings", "notes"):
        if facts[title]:
            lines += ["", title, *(f"  {_said(each)}" for each in facts[title])]
    return "\n".join(lines)


def _said(reading: str | Mapping[str, str]) -> str:
    if isinstance(reading, str):
        return reading
    hint = f" — {reading['hint']}" if reading["hint"] else ""
    return f"{reading['where']}: {reading['what']}{hint}"


def _requested_row(requested: Mapping[str, Any]) -> list[Any]:
    kind = "" if requested["role"] == "key" else requested["dtype"]
    if requested["role"] == "constant":
        return [requested["column"], "constant", kind, requested["default"], "set by the config"]
    ways = " or ".join(requested["give_as"])
    return [requested["column"], requested["role"], kind, requested["default"], ways]


def _step_lines(step: Mapping[str, Any]) -> Iterator[str]:
    after = f", after {', '.join(step['after'])}" if step["after"] else ""
    yield f"  {step['step']} ({step['kind']}{after})"
    if step["kind"] == "init":
        yield "    makes the rows and takes over what the request brings"
    details = {"feature": _feature_lines, "model": _model_lines, "compute": _compute_lines}
    if step["kind"] in details:
        yield from (f"    {line}" for line in details[step["kind"]](step))
        yield f"    {_policy(step)}"
    rows = []
    for column in step["writes"]:
        default = column.get("default")
        shown = "" if default is None else f"default {cell_text(default) or repr('')}"
        if step["kind"] == "feature" and default is None:
            shown = "no default"
        rows.append(["writes", column["column"], column["dtype"], shown])
    if rows and step["kind"] != "init":
        yield from table(["", "", "", ""], rows, indent=4)[1:]


def _feature_lines(step: Mapping[str, Any]) -> Iterator[str]:
    keys = ", ".join(f"{key['key']} = {key['column']}" for key in step["keys"])
    groups = f", groups {', '.join(step['groups'])}" if step["groups"] else ""
    yield from _wrapped(f"reads entity {step['entity']} by {keys}{groups}")


def _model_lines(step: Mapping[str, Any]) -> Iterator[str]:
    for arm in step["arms"]:
        share = "" if len(step["arms"]) == 1 else f"{arm['percent']:g} % "
        yield f"calls {share}{arm['endpoint']} {arm['model']}@{arm['version']}"
        for tensor in arm["tensors"]:
            shape = ", ".join("N" if size is None else str(size) for size in tensor["shape"])
            columns = ", ".join(_source_text(source) for source in tensor["columns"])
            yield from _wrapped(f"  {tensor['tensor']} {tensor['dtype']}[{shape}] ← {columns}")
        for output in arm["outputs"]:
            yield f"  {output['tensor']} → {', '.join(output['columns'])}"
    for calibration in step["calibrations"]:
        yield f"calibrates {calibration['column']} ({calibration['kind']})"


def _wrapped(line: str) -> list[str]:
    return wrap(line, WIDTH, subsequent_indent="    ", break_long_words=False)


def _source_text(source: Mapping[str, Any]) -> str:
    width = f"[{source['width']}]" if source["width"] > 1 else ""
    return f"{source['column']}{width}" + (f" as {source['as']}" if source["as"] else "")


def _compute_lines(step: Mapping[str, Any]) -> Iterator[str]:
    columns = ", ".join(f"{name} = {column}" for name, column in step["variables"].items())
    across = ", looks across rows" if step["looks_across_rows"] else ""
    yield from _wrapped(
        f"computes {step['compute_id']} with {columns} in {step['precision']}{across}"
    )


def _policy(step: Mapping[str, Any]) -> str:
    parts = [f"on error: {step['on_error']}"]
    if step["timeout_ms"] is not None:
        parts.append(f"timeout {step['timeout_ms']:g} ms")
    if step.get("cache_ttl_s") is not None:
        parts.append(f"cached for {duration_text(step['cache_ttl_s'])}")
    if step.get("batch_size"):
        parts.append(f"batches of {step['batch_size']}")
    if step.get("nan_policy", "pass") != "pass":
        parts.append(f"not a number: {step['nan_policy']}")
    if step.get("strict"):
        parts.append("a row without an answer fails the step")
    if step.get("slate_reduce"):
        parts.append(f"one score per pair or slate, slate_reduce {step['slate_reduce']}")
    return ", ".join(parts)
