"""Falling back, at a start, on what was last served well.

While a process runs, a config that went bad simply keeps its scorer. After a restart there is
none: it is made again, from the texts it was found good with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from inferflow.app.livebook import Book
from inferflow.app.project import NO_SCHEMA, SCHEMA_FILE, Project, schema_of
from inferflow.app.remaking import Remaker
from inferflow.app.wiring import Embedded
from inferflow.configstore import Served, ServedStore
from inferflow.engine.scorer import Scorer
from inferflow.errors import InferflowError
from inferflow.plan.book import LiveSplit, PlanBook
from inferflow.plan.compiler import Compiled


@dataclass(frozen=True, slots=True)
class LastGood:
    """What was served when the project was last open."""

    served: Mapping[str, Served]
    store: ServedStore

    @property
    def schema_text(self) -> str | None:
        """The feature schema that was in use; None when there is none to fall back on."""
        return self.store.newest_text(self.served, "schema")

    @property
    def expressions_text(self) -> str | None:
        return self.store.newest_text(self.served, "expressions")

    def mend_schema(self, project: Project, *, must_open: bool = False) -> None:
        """Give a project whose schema is broken the last good one. Without any it stays as it
        is, and cannot be opened; when it must, it has none until a good one is found."""
        broken = any(f.file == SCHEMA_FILE and f.problem.is_error for f in project.findings)
        kept = self.schema_text if broken else None
        if kept is not None or (broken and must_open):
            project.schema = (kept and schema_of(kept, [])) or NO_SCHEMA
            project.findings = [f for f in project.findings if f.file != SCHEMA_FILE]

    def restore(
        self, failed: Mapping[str, Compiled], embedded: Embedded
    ) -> tuple[Book, dict[str, str]]:
        """Scorers for configs that have none, and why where that is not possible either."""
        remaker = Remaker(self.store.texts, embedded)
        live: dict[str, Scorer] = {}
        splits: dict[str, LiveSplit[Scorer]] = {}
        wrong: dict[str, str] = {}
        for config_id in failed:
            served = self.served.get(config_id)
            if served is None or config_id in embedded.book.ids:
                continue
            try:
                made = remaker.make(config_id, served)
            except InferflowError as refused:
                wrong[config_id] = str(refused)
                continue
            if isinstance(made, Scorer):
                live[config_id] = made
            else:
                splits[config_id] = made
        return PlanBook(live, {}, splits), wrong
