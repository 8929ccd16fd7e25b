"""What configs are compiled against: the newest good feature schema and expressions.

A schema is good when it parses and the project's feature files fit it; then their new columns
are loaded too. Expressions are good one by one: a wrong one costs the configs that use it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from inferflow.app.lastgood import LastGood
from inferflow.app.loading import load_features
from inferflow.app.project import (
    EXPRESSIONS_FILE,
    SCHEMA_FILE,
    Finding,
    expression_findings,
    expressions_of,
    schema_of,
)
from inferflow.app.sources import Sources
from inferflow.app.wiring import Embedded, loaded_files
from inferflow.compute import ExpressionBook
from inferflow.errors import InferflowError
from inferflow.featurestore import FeatureStore
from inferflow.featurestore.schema import FeatureSchema
from inferflow.plan.problems import Problem


@dataclass(frozen=True, slots=True)
class World:
    schema_text: str | None
    """None when the project has no schema."""
    expressions_text: str | None
    store: FeatureStore
    """The store seen through that schema."""
    expressions: ExpressionBook


def first_world(embedded: Embedded, last_good: LastGood) -> World:
    """What there is to fall back on before anything was looked at."""
    text = last_good.expressions_text
    expressions = expressions_of(text, []) or ExpressionBook({})
    return World(last_good.schema_text, text, embedded.store, expressions)


def next_world(
    before: World, sources: Sources, embedded: Embedded, findings: list[Finding]
) -> World:
    """The schema and the expressions as written; each as before where it is no good."""
    unreadable = {finding.file for finding in sources.findings}
    world = before
    if sources.schema != before.schema_text and SCHEMA_FILE not in unreadable:
        schema = schema_of(sources.schema, findings)
        store = None if schema is None else _under(schema, before.store, embedded, findings)
        if store is not None:
            world = replace(world, schema_text=sources.schema, store=store)
    if EXPRESSIONS_FILE in unreadable:
        return world
    if sources.expressions == before.expressions_text:
        findings += expression_findings(before.expressions)
        return world
    expressions = expressions_of(sources.expressions, findings)
    if expressions is not None:
        world = replace(world, expressions_text=sources.expressions, expressions=expressions)
    return world


def _under(
    schema: FeatureSchema, store: FeatureStore, embedded: Embedded, findings: list[Finding]
) -> FeatureStore | None:
    """The same rows under a new schema, with the columns it adds loaded from the project's files;
    None when a file does not fit it."""
    if schema.digest == store.schema.digest:
        return store
    project = replace(embedded.project, schema=schema)
    try:
        changed = store.with_schema(schema)
        if not embedded.settings.onfs.address:
            loaded = loaded_files(project.root, embedded.settings, changed.backend)
            load_features(project, changed, loaded=loaded)
    except InferflowError as refused:
        findings.append(Finding(SCHEMA_FILE, Problem("data", str(refused))))
        return None
    return changed
