"""The expressions a compute service answers with, kept up to date.

Whatever is written well is taken up. An expression that went bad keeps the form it last had that
was good, also when that was before a restart; one that is gone is gone. A call meets either the
old or the new expressions, never a mix.
"""

from __future__ import annotations

import difflib
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from inferflow.app.expression_files import ExpressionSource, Written
from inferflow.app.kept_expressions import KeptExpressions
from inferflow.compute import Expression, ExpressionBook
from inferflow.errors import InferflowError, InvalidInput, NotFound

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Change:
    """What a look has led to."""

    changed: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    refused: Mapping[str, str] = field(default_factory=dict)
    """Why, by compute id."""


class LiveExpressions:
    """Looked up from any thread; `look` is for one at a time."""

    def __init__(
        self,
        source: ExpressionSource,
        *,
        tell: Callable[[Change], None] | None = None,
        kept: KeptExpressions | None = None,
    ) -> None:
        """Begins with what was `kept`, and keeps what it takes up."""
        self._source = source
        self._tell = tell or log_change
        self._kept = kept
        self._sources: Mapping[str, Any] = {} if kept is None else kept.load()
        self._live: Mapping[str, Expression] = _good(ExpressionBook(self._sources))
        self._written: Written | None = None
        self._why_not = ""
        self.problems: Mapping[str, str] = {}
        """What is wrong with what is written now, by compute id."""

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(self._live)

    def find(self, compute_id: str) -> Expression:
        """Raises NotFound, or InvalidInput when there is one that was never good."""
        live = self._live
        found = live.get(compute_id)
        if found is not None:
            return found
        problem = self.problems.get(compute_id)
        if problem is not None:
            raise InvalidInput(f"expression {compute_id!r} cannot be used: {problem}")
        close = difflib.get_close_matches(compute_id, live, n=1)
        raise NotFound("expression", compute_id, nearest=close[0] if close else "")

    def keep_looking(self) -> None:
        """`look` for somebody who does it again and again: a source that cannot be read is logged
        when that begins, not each time."""
        try:
            self.look()
        except InferflowError as failed:
            if str(failed) != self._why_not:
                log.warning("expressions cannot be read, and stay as they are: %s", failed)
            self._why_not = str(failed)
        else:
            self._why_not = ""

    def look(self) -> Change:
        """Take up what is good now. Raises what the source raises; then nothing changes."""
        written = self._source.read()
        if written == self._written:
            return Change()
        before = self._live
        book = ExpressionBook(written.sources)
        problems = written.unreadable | {name: str(why) for name, why in book.problems}
        live = {name: before[name] for name in problems if name in before}
        sources = {name: self._sources[name] for name in live}
        good = _good(book)
        live |= good
        sources |= {
            name: each for key, each in written.sources.items() if (name := str(key)) in good
        }
        change = Change(
            tuple(name for name, found in live.items() if before.get(name) != found),
            tuple(name for name in before if name not in live),
            problems,
        )
        self._live, self.problems, self._written = live, problems, written
        if self._kept is not None and sources != self._sources:
            self._kept.keep(sources)
        self._sources = sources
        self._tell(change)
        return change


def _good(book: ExpressionBook) -> dict[str, Expression]:
    return {name: found for name in book.ids if (found := book.get(name)) is not None}


def log_change(change: Change) -> None:
    if change.changed or change.removed:
        log.info("taken up: %s; removed: %s", list(change.changed), list(change.removed))
    for name, why in change.refused.items():
        log.warning("refused: expression %r: %s", name, why)
