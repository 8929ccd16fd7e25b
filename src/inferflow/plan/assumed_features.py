"""What a feature service is taken to have where no schema says so: what the config says.

A group's `data_type` is that of all its features, as it is in the original. What a config does not
say, the length of a vector for one, is a problem.
"""

from __future__ import annotations

from inferflow.plan.catalog import EntityInfo, FeatureInfo, GroupInfo
from inferflow.plan.problems import Problems
from inferflow.plan.spec import FeatureSpec, FeatureStepSpec

_HINT = "declare it in features/schema.yaml"


def assumed_entity(step: FeatureStepSpec, problems: Problems) -> EntityInfo:
    """Features that cannot be told are left out, each with its problem."""
    groups: dict[str, GroupInfo] = {}
    for number, group in enumerate(step.groups):
        where = f"{step.name}.fs_request.feature_groups[{number}]"
        features: dict[str, FeatureInfo] = {}
        for feature in group.features:
            what = _unknown(feature)
            if what or feature.dtype is None:
                problems.error(where, f"feature {feature.label!r} {what}", _HINT)
            else:
                features[feature.label] = FeatureInfo(feature.label, feature.dtype)
        groups[group.label] = GroupInfo(group.label, features)
    return EntityInfo(step.entity, tuple(key.name for key in step.keys), groups)


def _unknown(feature: FeatureSpec) -> str:
    """What the config does not say of a feature; nothing when it says enough."""
    if feature.dtype is None:
        return "has no data_type"
    if feature.dtype.is_vector:
        return "is a vector of unknown length"
    if feature.group_dtype is not None and feature.dtype is not feature.group_dtype:
        return f"is stored as {feature.group_dtype.name} and wanted as {feature.dtype.name}"
    return ""
