"""Models as a plan met them, and no others.

A config that asks for no version takes the highest there is, so what it means changes when a
version is added. Whoever makes a plan again from what was accepted must meet the same models:
each is found by the version it had then, and refused when its bytes are not those any more. A
model on another host is taken for what it said then, without asking again.
"""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace

from inferflow.app.catalog import CatalogModels
from inferflow.engine.ports import PreparedModel
from inferflow.errors import ModelUnreadable
from inferflow.plan.catalog import Endpoint, ModelSignature, UnknownSignature
from inferflow.plan.plan import ModelArm, ModelStep, Plan


@dataclass(frozen=True, slots=True)
class ModelPin:
    """One model that a plan uses."""

    model: str
    asked: str | None
    """The version the config asks for; None when any would do."""
    version: str
    digest: str
    address: str | None = None
    """Of a model on another host."""
    told: str = ""
    """What that host said of it, in base64; empty when it could not be asked."""


def pins_of(plan: Plan) -> tuple[ModelPin, ...]:
    """Every model that a plan uses."""
    found = {
        _pin_of(arm): None
        for step in plan.steps
        if isinstance(step, ModelStep)
        for arm in step.arms
    }
    return tuple(found)


def _pin_of(arm: ModelArm) -> ModelPin:
    endpoint, signature = arm.endpoint, arm.signature
    return ModelPin(
        endpoint.model,
        endpoint.version,
        signature.version,
        signature.digest,
        endpoint.address,
        b64encode(signature.told).decode(),
    )


class PinnedModels:
    """Implements `engine.ports.ModelRunner`, and answers the catalog, for one plan."""

    def __init__(self, models: CatalogModels, pins: Iterable[ModelPin]) -> None:
        self._models = models
        self._pins = {(pin.model, pin.asked, pin.address): pin for pin in pins}

    def is_local(self, endpoint: Endpoint) -> bool:
        return self._models.is_local(endpoint)

    def model_names(self) -> Collection[str]:
        return self._models.model_names()

    def signature(self, endpoint: Endpoint) -> ModelSignature | UnknownSignature | None:
        pin = self._pin(endpoint)
        if pin is not None and pin.address is not None:
            return self._as_told(endpoint, pin)
        found = self._models.signature(_at(endpoint, pin))
        if pin is not None and isinstance(found, ModelSignature) and found.digest != pin.digest:
            label = f"{pin.model}@{pin.version}"
            raise ModelUnreadable(label, "its files have changed since it was accepted")
        return found

    def learn(self, endpoint: Endpoint, told: bytes) -> ModelSignature | UnknownSignature:
        return self._models.learn(endpoint, told)

    def prepare(
        self, endpoint: Endpoint, inputs: tuple[str, ...], outputs: tuple[str, ...]
    ) -> PreparedModel:
        return self._models.prepare(_at(endpoint, self._pin(endpoint)), inputs, outputs)

    def _as_told(
        self, endpoint: Endpoint, pin: ModelPin
    ) -> ModelSignature | UnknownSignature | None:
        if not pin.told:
            return UnknownSignature(f"{pin.address} could not be asked when it was accepted")
        return self._models.learn(endpoint, b64decode(pin.told))

    def _pin(self, endpoint: Endpoint) -> ModelPin | None:
        return self._pins.get((endpoint.model, endpoint.version, endpoint.address))


def _at(endpoint: Endpoint, pin: ModelPin | None) -> Endpoint:
    if pin is None or not endpoint.is_local:
        return endpoint
    return replace(endpoint, version=pin.version)
