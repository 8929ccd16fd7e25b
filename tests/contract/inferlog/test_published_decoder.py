"""The decoder that others published reads what we write: every type, every format."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from inferflow.dtypes import DTYPES, DType
from inferflow.engine.request import request_from
from inferflow.inferlog.decoding import decode_message, log_of
from inferflow.inferlog.message import FORMATS, MessageWriter
from inferflow.testing import World, entity, model

from ...servers.published_decoder import PublishedDecoder
from ...servers.schema_server import serving
from ...unit.inferlog.worlds import Runs, taken

pytestmark = pytest.mark.timeout(300)  # it is installed first, where it is not yet

KINDS = [DTYPES[code] for code in range(1, 31)]


def value_of(number: int, row: int, *, is_text: bool, is_bool: bool) -> Any:
    if is_text:
        return f"text {row} ü"
    return bool((number + row) % 2) if is_bool else number + row


def every_type(watching: Runs) -> World:
    facts, rows = {}, {str(row): dict[str, Any]() for row in range(3)}
    for number, dtype in enumerate(KINDS):
        name = f"f_{dtype.name}"
        facts[name] = f"{dtype.name}[3]" if dtype.is_vector else dtype.name
        for row, values in enumerate(rows.values()):
            value = value_of(number, row, is_text=dtype.is_text, is_bool=dtype.is_bool)
            values[name] = [value] * 3 if dtype.is_vector else value
    return World(
        entities=[entity("item", facts=facts)],
        features={"item:facts": rows},
        models={"one": model(lambda x: x[:, 0] / 3, inputs={"x": "FP32[N,1]"})},
        observer=watching,
    )


def config() -> dict[str, Any]:
    return {
        "dag_execution_config": {
            "component_dependency": {"feature_initializer": ["fs"], "fs": ["rank"], "rank": []}
        },
        "component_config": {
            "cache_version": 2,
            "feature_component_config": {
                "fs": {
                    "fs_keys": {"schema": ["item_id"], "col": "context:item:item_id"},
                    "fs_request": {
                        "entity_label": "item",
                        "feature_groups": [
                            {
                                "label": "facts",
                                "feature_labels": [f"f_{dtype.name}" for dtype in KINDS],
                            }
                        ],
                    },
                }
            },
            "predator_component_config": {
                "rank": {
                    "model_name": "one",
                    "inputs": {"feature_map": {"item:facts:f_FP32": "FP32"}},
                    "outputs": {"score_columns": ["score"]},
                }
            },
        },
        "response_config": {"features": ["rank:score"], "logging_perc": 100},
    }


@pytest.mark.scenario("E6")
def test_every_type_in_every_format_is_decoded_to_equal_values(
    published_decoder: PublishedDecoder, tmp_path: Path
) -> None:
    watching = Runs()
    scorer = every_type(watching).scorer({"types": config()})
    request = {"entities": {"item": ["2", "0", "1"]}, "user_id": "u", "tracking_id": "t"}
    scorer.score_now(request_from(request, config_id="types"))
    logged = taken(watching.runs[0])
    schema = logged.log.schema
    messages = [
        MessageWriter(logged.log, format, compressed=compressed).write(logged)[0].value
        for format in FORMATS
        for compressed in (False, True)
    ]
    ours = [decode_message(message, lambda *_: schema) for message in messages]
    with serving(schema) as address:
        theirs = published_decoder.decode(
            [log_of(message) for message in messages], tmp_path, schemas=address
        )
    for own, other in zip(ours, theirs, strict=True):
        assert (other["user_id"], other["tracking_id"]) == ("u", "t")
        assert other["columns"].pop("entity_id") == own.ids == ["2", "0", "1"]
        assert list(other["columns"]) == list(own.columns)
        for field in schema.fields:
            expected = shown(own.columns[field.name], field.dtype)
            assert other["columns"][field.name] == expected, field.name


def shown(values: list[Any], dtype: DType) -> list[Any]:
    """As their decoder shows values: rounded, and the bare bytes of float8."""
    if dtype.is_text or dtype.is_bool:
        return values
    if dtype.element.name.startswith("FP8"):
        return np.array(values, np.float32).astype(dtype.numpy).view(np.uint8).tolist()
    return np.round(values, 6).tolist()
