"""What configs and requests are tried on: everything a project has, and nothing it could change.

Features are read through a view that refuses writes, no cache is filled, and nobody is told, so
that whatever is tried leaves no trace in rows, metrics or logs. Models are shared with whoever
serves: they are the same files.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

from inferflow.app.backoffice.plan_document import plan_document
from inferflow.app.catalog import CatalogModels, ProjectCatalog
from inferflow.app.livebook import Book
from inferflow.app.project import Project, WrittenConfig
from inferflow.app.settings import Settings
from inferflow.app.wiring import Embedded, check_arms
from inferflow.components.assemble import Ports, assemble
from inferflow.components.routing import pick
from inferflow.engine.ports import FeatureReader
from inferflow.engine.request import ScoreRequest
from inferflow.engine.scorer import Scorer
from inferflow.errors import InvalidInput, NotFound
from inferflow.featurestore import FeatureStore
from inferflow.featurestore.readonly import read_only_store
from inferflow.plan.compiler import Compiled, compile_config
from inferflow.plan.plan import Plan
from inferflow.plan.problems import nearest
from inferflow.serving.runtime import ModelRepository


class Benches(Protocol):
    """Hands out a bench as the project is now. Asked from threads; may take a moment.

    Implements `backoffice.features.Shelf`, too: its features are found the same way."""

    def bench(self) -> Bench: ...

    @property
    def kind(self) -> str: ...

    def store(self) -> FeatureStore: ...

    def reader(self, store: FeatureStore) -> FeatureReader: ...

    def refuse_writing(self) -> None: ...

    def close(self) -> None: ...


class Bench:
    """A project at one moment: a reload in between does not show in it."""

    def __init__(self, embedded: Embedded) -> None:
        self.project: Project = embedded.project
        self.book: Book = embedded.book
        self.settings = embedded.settings
        self.models: CatalogModels = embedded.models
        store = read_only_store(embedded.store)
        self.schema = store.schema
        ports = embedded.ports(store, self.project.expressions)
        self.ports: Ports = replace(ports, cache=None)

    def picked(self, request: ScoreRequest) -> tuple[Plan, str]:
        """The plan that serves a request, and its id where the request's stands for several."""
        scorer, arm = pick(self.book, request)
        return scorer.plan, arm

    def written(self, config_id: str) -> WrittenConfig:
        """A config as it is written now. Raises NotFound."""
        found = self.project.configs.get(config_id)
        if found is None:
            known = nearest(config_id, self.project.configs)
            raise NotFound("model config", config_id, nearest=known)
        return found

    def compiled(
        self, config_id: str, content: object, models: CatalogModels | None = None
    ) -> Compiled:
        """A config compiled beside the project's others, with other models where given."""
        catalog = ProjectCatalog(
            self.schema, models or self.models, self.project.expressions, self.settings
        )
        result = compile_config(config_id, content, catalog)
        others = [each for each in self.project.configs if each != config_id]
        return check_arms({config_id: result}, beside=others)[config_id]

    def document(self, plan: Plan) -> dict[str, Any]:
        """A plan as a picture needs it."""
        return plan_document(plan, ModelRepository(self.project.models_dir))

    def scorer(
        self,
        plan: Plan,
        *,
        models: CatalogModels | None = None,
        features: FeatureReader | None = None,
    ) -> Scorer:
        """A plan put to work, with other models or features where given."""
        ports = self.ports
        if models is not None:
            ports = replace(ports, models=models)
        if features is not None:
            ports = replace(ports, features=features)
        return Scorer(plan, assemble(plan, ports), limits=self.settings.limits)


class SharedBenches:
    """Of a project that is open in this process and kept up to date by its owner."""

    def __init__(self, embedded: Embedded) -> None:
        self._embedded = embedded

    def bench(self) -> Bench:
        return Bench(self._embedded)

    @property
    def kind(self) -> str:
        return shelf_kind(self._embedded.settings)

    def store(self) -> FeatureStore:
        return self._embedded.store

    def reader(self, store: FeatureStore) -> FeatureReader:
        return self._embedded.features.over(store)

    def refuse_writing(self) -> None:
        refuse_service(self._embedded.settings)

    def close(self) -> None:
        """All of it is its owner's."""


def shelf_kind(settings: Settings) -> str:
    """What keeps a project's features."""
    return "service" if settings.onfs.address else settings.feature_backend


def refuse_service(settings: Settings) -> None:
    if settings.onfs.address:
        raise InvalidInput(f"features are kept by {settings.onfs.address}; write them there")
