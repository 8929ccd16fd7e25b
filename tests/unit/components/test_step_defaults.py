"""Limits of a deployment for steps that have none of their own."""

from __future__ import annotations

from inferflow.components.step_defaults import StepDefaults
from inferflow.plan.plan import ComputeStep, FeatureStep, InitStep, ModelStep

PLACE = {
    "name": "s",
    "index": 0,
    "level": 0,
    "needs": (),
    "feeds": (),
    "on_error": "skip",
    "writes": (),
    "reads": (),
}
DEFAULTS = StepDefaults(
    feature_timeout_ms=1, feature_batch_size=2, model_timeout_ms=3, compute_timeout_ms=4
)


def test_a_step_without_limits_gets_those_of_its_kind() -> None:
    feature = DEFAULTS.applied(FeatureStep(**PLACE, timeout_ms=None))
    assert (feature.timeout_ms, feature.batch_size) == (1, 2)
    assert DEFAULTS.applied(ModelStep(**PLACE, timeout_ms=None)).timeout_ms == 3
    assert DEFAULTS.applied(ComputeStep(**PLACE, timeout_ms=None)).timeout_ms == 4
    assert DEFAULTS.applied(InitStep(**PLACE, timeout_ms=None)).timeout_ms is None


def test_a_step_keeps_its_own_limits() -> None:
    step = FeatureStep(**PLACE, timeout_ms=50, batch_size=60)
    assert DEFAULTS.applied(step) == step


def test_without_defaults_a_step_stays_as_it_is() -> None:
    step = ModelStep(**PLACE, timeout_ms=None)
    assert StepDefaults().applied(step) == step
