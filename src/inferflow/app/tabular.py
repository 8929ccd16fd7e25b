"""Plain-text tables, the same on a terminal, in a pipe and in a notebook.

Nothing is cut to a terminal's width: whoever pipes a table into another program gets all of it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

SHOWN_ELEMENTS = 3
"""Elements of a vector that are shown in a cell; the rest is counted."""


def table(
    headers: Sequence[str], rows: Sequence[Sequence[Any] | str], *, indent: int = 0
) -> list[str]:
    """Lines of a table. A row that is one text is a heading across all columns.

    Columns of numbers stand to the right. A column without a value in any row is left out.
    """
    cells = [row if isinstance(row, str) else [cell_text(cell) for cell in row] for row in rows]
    kept = [
        column
        for column in range(len(headers))
        if any(not isinstance(row, str) and row[column] for row in cells)
    ]
    right = [_are_numbers([row[c] for row in rows if not isinstance(row, str)]) for c in kept]
    texts = [[headers[column] for column in kept]]
    texts += [[row[column] for column in kept] for row in cells if not isinstance(row, str)]
    widths = [max(_width(row[i]) for row in texts) for i in range(len(kept))]
    margin = " " * indent
    body = iter([margin + _line(row, widths, right) for row in texts])
    lines = [next(body), *(row if isinstance(row, str) else next(body) for row in cells)]
    return [line.rstrip() for line in lines]


def cell_text(value: Any) -> str:
    """A value as people read it: six digits, long vectors shortened, no control characters."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        shown = ", ".join(cell_text(element) for element in value[:SHOWN_ELEMENTS])
        more = f", … {len(value)} in all" if len(value) > SHOWN_ELEMENTS else ""
        return f"[{shown}{more}]"
    text = str(value)
    return text if text.isprintable() else ascii(text)


def duration_text(seconds: float) -> str:
    """How long, in the largest unit that leaves a number of one or more."""
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds * 1000:.3g} ms"


def counted(count: int, noun: str) -> str:
    """`1 row`, `2 rows`, `2 batches`."""
    plural = noun + ("es" if noun.endswith("ch") else "s")
    return f"{count:,} {noun if count == 1 else plural}"


def _line(cells: Sequence[str], widths: Sequence[int], right: Sequence[bool]) -> str:
    padded = []
    for cell, width, at_right in zip(cells, widths, right, strict=True):
        gap = " " * (width - _width(cell))
        padded.append(gap + cell if at_right else cell + gap)
    return "  ".join(padded)


def _width(text: str) -> int:
    """Terminal columns a text takes: wide letters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )


def _are_numbers(values: Sequence[Any]) -> bool:
    present = [value for value in values if value not in (None, "")]
    return bool(present) and all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in present
    )
