"""The compiler's view of a project: its schema, its models, its expressions."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from inferflow.compute import ExpressionBook
from inferflow.featurestore.schema import FeatureSchema
from inferflow.plan.catalog import Endpoint, EntityInfo, ExpressionInfo, ModelSignature
from inferflow.serving.runtime import EmbeddedModels


class ProjectCatalog:
    """Implements `plan.catalog.Catalog` over what is in this process."""

    def __init__(
        self,
        schema: FeatureSchema,
        models: EmbeddedModels,
        expressions: ExpressionBook,
        endpoints: Mapping[str, str],
    ) -> None:
        self._schema = schema
        self._models = models
        self._expressions = expressions
        self._endpoints = endpoints

    def entity(self, label: str) -> EntityInfo | None:
        return self._schema.entities.get(label)

    def entity_labels(self) -> Collection[str]:
        return self._schema.entities

    def resolve_endpoint(self, text: str) -> str:
        return self._endpoints.get(text, text)

    def signature(self, endpoint: Endpoint) -> ModelSignature | None:
        return self._models.signature(endpoint)

    def model_names(self) -> Collection[str]:
        return self._models.model_names()

    def expression(self, compute_id: str) -> ExpressionInfo | None:
        found = self._expressions.get(compute_id)
        if found is None:
            return None
        return ExpressionInfo(
            found.variables, found.cross_row, frozenset(found.numeric_variables), found.digest
        )

    def compute_ids(self) -> Collection[str]:
        return self._expressions.ids
