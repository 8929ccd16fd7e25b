"""Plain-text tables, the same on a terminal, in a pipe and in a notebook.

Nothing is cut to a terminal's width: whoever pipes a table into another program gets all of it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Any

DIGITS = 6
"""Significant digits people are shown; programs get all of them as JSON."""
SHOWN_ELEMENTS = 3
"""Elements of a vector that are shown in a cell; the rest is counted."""


def table(
    headers: Sequence[str], rows: Sequence[Sequence[Any] | str], *, indent: int = 0
) -> list[str]:
    """Lines of a table. A row that is one text is a heading across all columns.

    Numbers stand to the right with their points in line. A column without any value is left out.
    """
    plain = [row for row in rows if not isinstance(row, str)]
    columns = [
        _Column(header, [row[place] for row in plain]) for place, header in enumerate(headers)
    ]
    shown = [column for column in columns if any(column.texts)]
    cells = zip(*(column.padded() for column in shown), strict=True)
    body = iter([" " * indent + "  ".join(row) for row in cells])
    heading = next(body, "")
    lines = [heading, *(row if isinstance(row, str) else next(body) for row in rows)]
    return [line.rstrip() for line in lines]


class _Column:
    def __init__(self, header: str, values: Sequence[Any]) -> None:
        present = [value for value in values if value not in (None, "")]
        self._header = header
        self._is_number = bool(present) and all(map(_is_number, present))
        self.texts = (
            _number_texts(values) if self._is_number else [cell_text(each) for each in values]
        )

    def padded(self) -> list[str]:
        """The header and every cell, all of one width."""
        lines = [self._header, *self.texts]
        width = max(map(_width, lines))
        gaps = [" " * (width - _width(text)) for text in lines]
        if self._is_number:
            return [gap + text for gap, text in zip(gaps, lines, strict=True)]
        return [text + gap for gap, text in zip(gaps, lines, strict=True)]


def cell_text(value: Any) -> str:
    """A value as people read it: few digits, long vectors shortened, no control characters."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return f"{value:.{DIGITS}g}"
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


def _number_texts(values: Sequence[Any]) -> list[str]:
    """With as many decimals as the largest needs, unless that would hide the smallest."""
    floats = [abs(value) for value in values if isinstance(value, float)]
    if not floats or not all(each == 0 or 1e-3 <= each < 10**DIGITS for each in floats):
        return [cell_text(value) for value in values]
    decimals = DIGITS - len(str(int(max(floats))))
    texts = [f"{value:.{decimals}f}" if isinstance(value, float) else None for value in values]
    spare = min(len(text) - len(text.rstrip("0")) for text in texts if text is not None)
    cut = min(spare, decimals)
    return [
        cell_text(value) if text is None else text[: len(text) - cut].rstrip(".")
        for value, text in zip(values, texts, strict=True)
    ]


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _width(text: str) -> int:
    """Terminal columns a text takes: wide letters take two, combining marks none."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1
        for c in text
    )
