"""Limits for steps whose config names none. They belong to a deployment, not to a plan."""

from __future__ import annotations

from dataclasses import dataclass, replace

from inferflow.plan.plan import ComputeStep, FeatureStep, ModelStep, Step


@dataclass(frozen=True, slots=True)
class StepDefaults:
    feature_timeout_ms: float | None = None
    feature_batch_size: int = 0
    model_timeout_ms: float | None = None
    compute_timeout_ms: float | None = None

    def applied(self, step: Step) -> Step:
        """The step as it is run: with these limits where it has none of its own."""
        match step:
            case FeatureStep():
                return replace(
                    step,
                    timeout_ms=step.timeout_ms or self.feature_timeout_ms,
                    batch_size=step.batch_size or self.feature_batch_size,
                )
            case ModelStep():
                return replace(step, timeout_ms=step.timeout_ms or self.model_timeout_ms)
            case ComputeStep():
                return replace(step, timeout_ms=step.timeout_ms or self.compute_timeout_ms)
        return step
