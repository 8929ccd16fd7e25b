"""Models by another version than a config asks for, to see what that would change."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from inferflow.app.catalog import CatalogModels
from inferflow.engine.ports import PreparedModel
from inferflow.errors import InvalidRequest
from inferflow.plan.catalog import Endpoint, ModelSignature, UnknownSignature
from inferflow.plan.plan import ModelStep, Plan
from inferflow.plan.problems import closest_hint


class OtherVersions:
    """Implements `engine.ports.ModelRunner`, and answers the catalog."""

    def __init__(self, models: CatalogModels, versions: Mapping[str, str]) -> None:
        """`versions` by the name of the model."""
        self._models = models
        self._versions = versions

    def is_local(self, endpoint: Endpoint) -> bool:
        return self._models.is_local(endpoint)

    def model_names(self) -> Collection[str]:
        return self._models.model_names()

    def signature(self, endpoint: Endpoint) -> ModelSignature | UnknownSignature | None:
        return self._models.signature(self._other(endpoint))

    def learn(self, endpoint: Endpoint, told: bytes) -> ModelSignature | UnknownSignature:
        return self._models.learn(self._other(endpoint), told)

    def prepare(
        self, endpoint: Endpoint, inputs: tuple[str, ...], outputs: tuple[str, ...]
    ) -> PreparedModel:
        return self._models.prepare(self._other(endpoint), inputs, outputs)

    def _other(self, endpoint: Endpoint) -> Endpoint:
        version = self._versions.get(endpoint.model)
        return endpoint if version is None else replace(endpoint, version=version)


def other_versions(plan: Plan, wanted: Mapping[str, str], models: CatalogModels) -> OtherVersions:
    """Versions by model, or by the name of a step that calls one. Raises InvalidRequest for
    what is neither, and for a version there is not."""
    called = {
        step.name: [arm.endpoint for arm in step.arms]
        for step in plan.steps
        if isinstance(step, ModelStep)
    }
    by_model: dict[str, list[Endpoint]] = {}
    for endpoint in (each for endpoints in called.values() for each in endpoints):
        by_model.setdefault(endpoint.model, []).append(endpoint)
    found: dict[str, str] = {}
    for name, version in wanted.items():
        field = f"overrides.models.{name}"
        endpoints = called.get(name) or by_model.get(name)
        if endpoints is None:
            hint = closest_hint(name, {*called, *by_model})
            raise InvalidRequest(field, f"{plan.config_id!r} has no such model", hint)
        for endpoint in endpoints:
            if models.signature(replace(endpoint, version=version)) is None:
                raise InvalidRequest(field, f"{endpoint.model!r} has no version {version!r}")
            found[endpoint.model] = version
    return OtherVersions(models, found)
