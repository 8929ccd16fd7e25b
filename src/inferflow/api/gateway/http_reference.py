"""Prints the tables of `docs/reference/http.md`, so that the page cannot say anything else.

python -m inferflow.api.gateway.http_reference docs/reference/http.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

from inferflow.access.gate import OpenGate
from inferflow.api.gateway.app import make_app
from inferflow.api.gateway.ports import Ports
from inferflow.api.gateway.rules import RULES, told
from inferflow.telemetry.reference import with_printed

_STREAM = "WS "


def tables() -> str:
    """The part of the page that is printed."""
    document = make_app(Ports(OpenGate())).openapi()
    lines: list[str] = []
    for tag, rows in groupby(sorted(_operations(document), key=_tag), key=_tag):
        lines += [f"## {tag.capitalize()}", "", "| Request | Permission | |", "|---|---|---|"]
        lines += [f"| `{name}` | {needs} | {text} |" for _, name, needs, text in rows]
        lines.append("")
    lines += ["## WebSockets", "", "| Stream | Permission |", "|---|---|"]
    for name, rule in RULES.items():
        if name.startswith(_STREAM):
            lines.append(f"| `{name.removeprefix(_STREAM)}` | {told(rule)} |")
    return "\n".join(lines)


def page(written: str) -> str:
    """A page with its tables brought up to date; the rest of it stays."""
    return with_printed(written, tables())


def _operations(document: dict[str, Any]) -> Iterator[tuple[str, str, str, str]]:
    for path, operations in document["paths"].items():
        for verb, operation in operations.items():
            name = f"{verb.upper()} {path}"
            about = " ".join(operation["description"].split())
            yield operation["tags"][0], name, told(RULES[name]) or "none", about


def _tag(row: tuple[str, str, str, str]) -> str:
    return row[0]


if __name__ == "__main__":
    file = Path(sys.argv[1])
    file.write_text(page(file.read_text("utf-8")), "utf-8")
