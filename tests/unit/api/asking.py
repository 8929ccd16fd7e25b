"""Requests as a client would write them."""

from __future__ import annotations

import struct
from typing import Any

from inferflow._proto import messages
from inferflow.dtypes import FP32, INT32, STRING

POINT = "/Predict/InferPointWise"
PAIR = "/Predict/InferPairWise"
SLATE = "/Predict/InferSlateWise"
LEGACY = "/Inferflow/RetrieveModelScore"


def fp32(*values: float) -> bytes:
    return struct.pack(f"<{len(values)}f", *values)


def point(
    config_id: str = "ranker",
    ids: tuple[str, ...] = ("1", "2", "3"),
    boosts: tuple[bytes, ...] | None = None,
    **more: Any,
) -> Any:
    """Targets with a `boost` each, for user 7 at 20 o'clock."""
    request = messages.PointWiseRequest(model_config_id=config_id, **more)
    request.context_features.add(name="user_id", value=b"7", data_type=STRING.code)
    request.context_features.add(name="hour", value=struct.pack("<i", 20), data_type=INT32.code)
    request.target_input_schema.add(name="boost", data_type=FP32.code)
    for number, each in enumerate(ids):
        boost = fp32(number / 2) if boosts is None else boosts[number]
        request.targets.add(id=each, feature_values=[boost])
    return request


def text_point(config_id: str, ids: tuple[str, ...] = ("1", "2")) -> Any:
    """The same in text."""
    request = point(config_id, ids, tuple(str(n / 2).encode() for n in range(len(ids))))
    request.context_features[1].value = b"20"
    return request


def grouped(kind: str, groups: list[list[int]], gaps: list[float], ids: str = "1234") -> Any:
    if kind == "pairs":
        request = messages.PairWiseRequest(model_config_id="pairs")
        request.pair_input_schema.add(name="gap", data_type=FP32.code)
        for (first, second), gap in zip(groups, gaps, strict=True):
            request.pairs.add(
                first_target_index=first, second_target_index=second, feature_values=[fp32(gap)]
            )
    else:
        request = messages.SlateWiseRequest(model_config_id="slates")
        request.slate_input_schema.add(name="gap", data_type=FP32.code)
        for members, gap in zip(groups, gaps, strict=True):
            request.slates.add(target_indices=members, feature_values=[fp32(gap)])
    for each in ids:
        request.targets.add(id=each)
    return request


def legacy(config_id: str = "ranker", **entities: list[str]) -> Any:
    request = messages.InferflowRequest(model_config_id=config_id)
    for name, ids in entities.items():
        request.entities.add(entity=name, ids=ids)
    return request


def add_feature(request: Any, entity: str, name: str, *values: str) -> Any:
    for each in request.entities:
        if each.entity == entity:
            each.features.add(name=name, ids_feature_value=values)
    return request
