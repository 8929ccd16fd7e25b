"""Puts a plan's steps to work: each gets the port it needs, prepared once."""

from __future__ import annotations

from dataclasses import dataclass, field

from inferflow.components.cache import FeatureCache
from inferflow.components.compute import ComputeComponent
from inferflow.components.feature import FeatureComponent
from inferflow.components.init import InitComponent
from inferflow.components.model import ModelComponent
from inferflow.components.slate_compute import SlateComputeComponent
from inferflow.components.slate_model import SlateModelComponent
from inferflow.components.step_defaults import StepDefaults
from inferflow.engine.executor import Component
from inferflow.engine.ports import ComputeRunner, FeatureReader, ModelRunner
from inferflow.errors import EngineFault
from inferflow.plan.plan import ComputeStep, FeatureStep, InitStep, ModelStep, Plan, Step


@dataclass(frozen=True, slots=True)
class Ports:
    """What the core needs of the world."""

    features: FeatureReader
    models: ModelRunner
    compute: ComputeRunner
    cache: FeatureCache | None = None
    defaults: StepDefaults = field(default_factory=StepDefaults)
    """Limits for steps that have none of their own."""
    calibrate: ComputeRunner | None = None
    """Computes calibrations, in this process; `compute` does unless given."""


def assemble(plan: Plan, ports: Ports) -> tuple[Component, ...]:
    """One component per step, in the plan's order."""
    return tuple(_component(ports.defaults.applied(step), ports) for step in plan.steps)


def _component(step: Step, ports: Ports) -> Component:
    match step:
        case InitStep():
            return InitComponent(step)
        case FeatureStep():
            return FeatureComponent(step, ports.features, ports.cache)
        case ModelStep():
            kind = SlateModelComponent if step.slate else ModelComponent
            return kind(step, ports.models, ports.calibrate or ports.compute)
        case ComputeStep():
            return (SlateComputeComponent if step.slate else ComputeComponent)(step, ports.compute)
    raise EngineFault(f"step {step.name!r} has no component")
