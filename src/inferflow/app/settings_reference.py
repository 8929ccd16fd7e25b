"""Prints the tables of `docs/reference/settings.md`, so that the page cannot say anything else.

python -m inferflow.app.settings_reference docs/reference/settings.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from inferflow.app.setting_table import Setting, settings_of, tables_of
from inferflow.app.settings import Settings
from inferflow.app.settings_report import shown
from inferflow.telemetry.reference import with_printed


def tables() -> str:
    """The part of the page that is printed."""
    about = tables_of(Settings)
    lines: list[str] = []
    for table, settings in groupby(settings_of(Settings), key=lambda setting: setting.table):
        lines += [f"## `[{table}]`" if table else "## Top of the file", ""]
        lines += [about[table], ""] if table else []
        lines += ["| Setting | Variables | Default | Meaning |", "|---|---|---|---|"]
        lines += [*map(_row, settings), ""]
    lines += ["## Settings that nothing acts on", ""]
    lines += list(_idle())
    return "\n".join(lines)


def page(written: str) -> str:
    """A page with its tables brought up to date; the rest of it stays."""
    return with_printed(written, tables())


def _row(setting: Setting) -> str:
    variables = ", ".join(f"`{name}`" for name in setting.variables) or "none"
    mark = " **Not used.**" if setting.unused else ""
    return f"| `{setting.key}` | {variables} | {_default(setting)} | {setting.meaning}{mark} |"


def _default(setting: Setting) -> str:
    value = shown(setting.default)
    if value is None or value in ("", [], {}):
        return "none"
    if isinstance(value, bool):
        return f"`{value}`".lower()
    text = f"{value:g}" if isinstance(value, float) else str(value)
    return f"`{text} {setting.unit}`".replace(" `", "`")


def _idle() -> Iterator[str]:
    by_reason: dict[str, list[str]] = {}
    for setting in settings_of(Settings):
        if setting.unused:
            by_reason.setdefault(setting.unused, []).append(f"`{setting.name}`")
    for reason, names in by_reason.items():
        yield f"- {', '.join(names)}: {reason}."


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(page(path.read_text(encoding="utf-8")), encoding="utf-8")
