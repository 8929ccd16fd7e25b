"""What a PromQL expression names: its metrics with their labels, as far as a test must know.

Not a parser: `promtool` is one. Text in quotes is left out, then names are told apart by what
stands around them.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TEXT = re.compile(r'"(?:[^"\\]|\\.)*"')
_GROUPING = re.compile(r"\b(?:by|without|on|ignoring|group_left|group_right)\s*\(([^)]*)\)")
_RANGE = re.compile(r"\[[^\]]*\]|\boffset\s+\w+")
_SELECTOR = re.compile(r"\b([a-zA-Z_:][\w:]*)\s*(?:\{([^}]*)\})?(?!\s*\(|\w)")
_MATCHER = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
_WORDS = frozenset({"and", "or", "unless", "bool", "by", "without", "on", "ignoring"})
_OF_HISTOGRAMS = re.compile(r"_(bucket|count|sum)$")


@dataclass(frozen=True)
class Named:
    """One use of a metric."""

    metric: str
    labels: frozenset[str]
    """Those it is selected by."""


def named(expression: str) -> list[Named]:
    plain = _RANGE.sub("", _GROUPING.sub("", _TEXT.sub('""', expression)))
    return [
        Named(match[1], frozenset(_MATCHER.findall(match[2] or "")))
        for match in _SELECTOR.finditer(plain)
        if match[1] not in _WORDS
    ]


def grouped(expression: str) -> frozenset[str]:
    """Labels that something is summed or joined by."""
    lists = _GROUPING.findall(_TEXT.sub('""', expression))
    return frozenset(name for each in lists for name in re.findall(r"\w+", each))


def family(metric: str) -> str:
    """The metric that a series of it belongs to."""
    return _OF_HISTOGRAMS.sub("", metric)
