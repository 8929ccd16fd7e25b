"""What the compiler asks about the world, answered from what a test hands over."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from inferflow.compute import ExpressionBook
from inferflow.errors import InvalidInput
from inferflow.plan.catalog import (
    Endpoint,
    EntityInfo,
    ExpressionInfo,
    ModelSignature,
    RemotePolicy,
    UnknownSignature,
)
from inferflow.testing.models import FakeModel, FakeModels


class FakeCatalog:
    """Implements `plan.catalog.Catalog`."""

    def __init__(
        self,
        *,
        entities: Sequence[EntityInfo] = (),
        models: Mapping[str, FakeModel] | FakeModels | None = None,
        expressions: Mapping[str, Any] | None = None,
        endpoints: Mapping[str, str] | None = None,
        remote: RemotePolicy | None = None,
    ) -> None:
        self.remote = remote or RemotePolicy()
        self.models = models if isinstance(models, FakeModels) else FakeModels(models or {})
        self.expressions = ExpressionBook(expressions or {})
        for compute_id, wrong in self.expressions.problems:
            raise InvalidInput(f"expression {compute_id!r}: {wrong}")
        self._entities = {entity.label: entity for entity in entities}
        self._endpoints = endpoints or {}

    def entity(self, label: str) -> EntityInfo | None:
        return self._entities.get(label)

    def entity_labels(self) -> Collection[str]:
        return self._entities

    def resolve_endpoint(self, text: str) -> str:
        return self._endpoints.get(text, text)

    def signature(self, endpoint: Endpoint) -> ModelSignature | UnknownSignature | None:
        return self.models.signature(endpoint)

    def model_names(self) -> Collection[str]:
        return self.models.names()

    def expression(self, compute_id: str) -> ExpressionInfo | None:
        found = self.expressions.get(compute_id)
        if found is None:
            return None
        numeric = frozenset(found.numeric_variables)
        return ExpressionInfo(found.variables, found.cross_row, numeric, found.digest)

    def compute_ids(self) -> Collection[str]:
        return self.expressions.ids
