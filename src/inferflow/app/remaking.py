"""Makes what serves a config again, from the texts it was once found good with.

Needed where there is no scorer to keep: after a restart, and in a process that serves what
another has accepted.
"""

from __future__ import annotations

from dataclasses import replace

from inferflow.app.catalog import CatalogModels, ProjectCatalog
from inferflow.app.project import NO_SCHEMA, expressions_of, schema_of
from inferflow.app.wiring import Embedded
from inferflow.components.assemble import assemble
from inferflow.compute import ExpressionBook
from inferflow.configstore import Served, Texts
from inferflow.configstore.folder import documents_of
from inferflow.engine.scorer import Scorer
from inferflow.errors import PlanRejected
from inferflow.featurestore import FeatureStore
from inferflow.plan.book import LiveSplit
from inferflow.plan.compiler import compile_config


class Remaker:
    """For one round: configs that share a schema or expressions share what is made of them."""

    def __init__(self, texts: Texts, embedded: Embedded) -> None:
        self._texts = texts
        self._embedded = embedded
        self._stores: dict[str, FeatureStore] = {}
        self._expressions: dict[str, ExpressionBook] = {}

    def make(
        self, config_id: str, served: Served, models: CatalogModels | None = None
    ) -> Scorer | LiveSplit[Scorer]:
        """What serves the config, with these models if not with those at hand. Of a split, its
        shares alone: whoever asks knows what serves its arms.

        Raises PlanRejected when it can no longer serve, ConfigStoreFailed when a text is lost.
        """
        embedded = self._embedded
        store, expressions = self._store(served.schema), self._book(served.expressions)
        models = embedded.models if models is None else models
        catalog = ProjectCatalog(store.schema, models, expressions, embedded.settings)
        compiled = compile_config(config_id, self._content(config_id, served), catalog)
        if compiled.split is not None:
            return LiveSplit(compiled.split, ())
        if compiled.plan is None:
            raise PlanRejected(config_id, compiled.errors)
        ports = replace(embedded.ports(store, expressions), models=models)
        return Scorer(
            compiled.plan,
            assemble(compiled.plan, ports),
            limits=embedded.settings.limits,
            observer=embedded.observer,
        )

    def _content(self, config_id: str, served: Served) -> object:
        found = documents_of(
            self._texts.get(served.text), served.format, stem=config_id, file=served.file
        )
        return {each.id: each.content for each in found}.get(config_id)

    def _store(self, name: str) -> FeatureStore:
        """The rows under the schema of this hash; there may have been none."""
        if name not in self._stores:
            schema = schema_of(self._texts.get(name), []) if name else None
            self._stores[name] = self._embedded.store.with_schema(schema or NO_SCHEMA)
        return self._stores[name]

    def _book(self, name: str) -> ExpressionBook:
        if name not in self._expressions:
            text = self._texts.get(name) if name else None
            self._expressions[name] = expressions_of(text, []) or ExpressionBook({})
        return self._expressions[name]
