"""Configs and requests as people write them, with the parts that never matter left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inferflow.engine.request import ScoreRequest


def feature_step(
    entity: str,
    keys: Mapping[str, str],
    groups: Mapping[str, Sequence[str]],
    *,
    defaults: Mapping[str, Mapping[str, Any]] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A feature component: `keys` is key name → column, `groups` is group → features."""
    return {
        "fs_keys": {"schema": list(keys), "col": list(keys.values())},
        "fs_request": {
            "entity_label": entity,
            "feature_groups": [
                {
                    "label": group,
                    "feature_labels": list(features),
                    "defaults": dict((defaults or {}).get(group, {})),
                }
                for group, features in groups.items()
            ],
        },
        **more,
    }


def model_step(
    model: str, feature_map: Mapping[str, Any], scores: Sequence[str] = ("score",), **more: Any
) -> dict[str, Any]:
    return {
        "model_name": model,
        "inputs": {"feature_map": dict(feature_map)},
        "outputs": {"score_columns": list(scores)},
        **more,
    }


def compute_step(
    compute_id: str, mapping: Mapping[str, Any], column: str = "value", **more: Any
) -> dict[str, Any]:
    return {
        "compute_id": compute_id,
        "score_mapping": dict(mapping),
        "score_column": column,
        **more,
    }


def config(
    response: Sequence[str],
    *,
    edges: Mapping[str, Sequence[str]] | None = None,
    features: Mapping[str, Any] | None = None,
    models: Mapping[str, Any] | None = None,
    computes: Mapping[str, Any] | None = None,
    shared: Mapping[str, Any] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """A config in the documented shape. Without `edges` the steps run one after another."""
    names = [*(features or {}), *(models or {}), *(computes or {})]
    chain = ["feature_initializer", *names]
    in_line = {step: [after] for step, after in zip(chain, names, strict=False)}
    return {
        "dag_execution_config": {
            "component_dependency": {k: list(v) for k, v in (edges or in_line).items()}
        },
        "component_config": {
            "feature_component_config": dict(features or {}),
            "predator_component_config": dict(models or {}),
            "numerix_component_config": dict(computes or {}),
            **(shared or {}),
        },
        "response_config": {"features": list(response)},
        **more,
    }


def request(config_id: str = "config", **parts: Any) -> ScoreRequest:
    """A request; entities that are not named default to one product."""
    return ScoreRequest(config_id, parts.pop("entities", {"product": ["1"]}), **parts)
