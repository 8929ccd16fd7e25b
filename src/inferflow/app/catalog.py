"""The compiler's view of a project: its schema, its models, its expressions."""

from __future__ import annotations

from collections.abc import Collection
from typing import Protocol

from inferflow.app.settings import Settings
from inferflow.compute import ExpressionBook
from inferflow.engine.ports import ModelRunner
from inferflow.featurestore.schema import FeatureSchema
from inferflow.plan.catalog import (
    Endpoint,
    EntityInfo,
    ExpressionInfo,
    ModelSignature,
    RemotePolicy,
    UnknownEntity,
    UnknownExpression,
    UnknownSignature,
)
from inferflow.plan.endpoints import LOCAL


class CatalogModels(ModelRunner, Protocol):
    """Models that can be run, and asked what they take."""

    def signature(self, endpoint: Endpoint) -> ModelSignature | UnknownSignature | None: ...

    def learn(self, endpoint: Endpoint, told: bytes) -> ModelSignature | UnknownSignature: ...

    def model_names(self) -> Collection[str]: ...


class ProjectCatalog:
    """Implements `plan.catalog.Catalog` over a project's files, and the models they name."""

    def __init__(
        self,
        schema: FeatureSchema,
        models: CatalogModels,
        expressions: ExpressionBook,
        settings: Settings,
    ) -> None:
        self._schema = schema
        self._models = models
        self._expressions = expressions
        self._endpoints = settings.endpoints
        self._feature_service = settings.onfs.address
        self._compute_service = settings.numerix.address
        self.remote = RemotePolicy(settings.endpoint_allow, settings.predator.port)
        self.asked: set[Endpoint] = set()
        """Models on other hosts that somebody asked about."""

    def entity(self, label: str) -> EntityInfo | UnknownEntity | None:
        if self._feature_service and not self._schema.entities:
            return UnknownEntity(self._feature_service)
        return self._schema.entities.get(label)

    def entity_labels(self) -> Collection[str]:
        return self._schema.entities

    def resolve_endpoint(self, text: str) -> str:
        return self._endpoints.get(text) or self._endpoints.get(text or LOCAL, text)

    def signature(self, endpoint: Endpoint) -> ModelSignature | UnknownSignature | None:
        if not endpoint.is_local:
            self.asked.add(endpoint)
        return self._models.signature(endpoint)

    def model_names(self) -> Collection[str]:
        return self._models.model_names()

    def expression(self, compute_id: str) -> ExpressionInfo | UnknownExpression | None:
        found = self._expressions.get(compute_id)
        if found is None:
            return UnknownExpression(self._compute_service) if self._compute_service else None
        # A service takes numbers only, also where an expression would take text or vectors.
        numeric = found.variables if self._compute_service else found.numeric_variables
        return ExpressionInfo(found.variables, found.cross_row, frozenset(numeric), found.digest)

    def compute_ids(self) -> Collection[str]:
        return self._expressions.ids
