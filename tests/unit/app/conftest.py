"""Small projects to test with."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inferflow.app.scaffold import write_starter

Write = Callable[..., Path]


@pytest.fixture
def starter(tmp_path: Path) -> Path:
    """What `inferflow init` writes."""
    write_starter(tmp_path / "starter")
    return tmp_path / "starter"


@pytest.fixture
def echo(tmp_path: Path) -> Path:
    """A project that answers with what it is given: `echo:score` is x, `name` is name."""
    root = tmp_path / "echo"
    for folder in ("configs", "features", "requests"):
        (root / folder).mkdir(parents=True)
    config = {
        "dag_execution_config": {
            "component_dependency": {"feature_initializer": ["fs_item"], "fs_item": ["echo"]}
        },
        "component_config": {
            "feature_component_config": {
                "fs_item": {
                    "fs_keys": {"schema": ["item_id"], "col": "context:item:item_id"},
                    "fs_request": {
                        "entity_label": "item",
                        "feature_groups": [{"label": "facts", "feature_labels": ["weight"]}],
                    },
                }
            },
            "numerix_component_config": {
                "echo": {
                    "compute_id": "echo",
                    "score_column": "score",
                    "data_type": "FP64",
                    "score_mapping": {"x": "FP64"},
                }
            },
        },
        "response_config": {"features": ["echo:score", "name"]},
    }
    (root / "configs/echo.json").write_text(json.dumps(config))
    (root / "features/schema.yaml").write_text(
        "entities: {item: {keys: [item_id], groups: {facts: {features: {weight: FP32}}}}}\n"
    )
    (root / "expressions.yaml").write_text("echo: 1 / (1 / x)\n")
    return root


@pytest.fixture
def ask(echo: Path) -> Callable[..., Path]:
    """Writes a golden request of the echo project."""

    def write(x: list[float], name: str = "request", **fields: Any) -> Path:
        request = {
            "model_config_id": "echo",
            "entities": {"item": [str(row) for row in range(len(x))]},
            "context": {"name": "ann"},
            "features": {"item": {"x": x}},
            **fields,
        }
        path = echo / "requests" / f"{name}.json"
        path.write_text(json.dumps(request))
        return path

    return write
