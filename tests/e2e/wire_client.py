"""A client as anybody would make it: generated from the protos, unaware of our package."""

from __future__ import annotations

import importlib
import json
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import grpc

PROTO = Path(__file__).parents[2] / "proto"
FP32, INT32, STRING = 4, 8, 14


def generate(folder: Path) -> tuple[Any, Any, Any, Any]:
    """(predict_pb2, predict_pb2_grpc, inferflow_pb2, inferflow_pb2_grpc)"""
    subprocess.run(
        [
            *(sys.executable, "-m", "grpc_tools.protoc", f"-I{PROTO}"),
            *(f"--python_out={folder}", f"--grpc_python_out={folder}"),
            *("predict.proto", "inferflow.proto"),
        ],
        check=True,
    )
    sys.path.insert(0, str(folder))
    try:
        names = ("predict_pb2", "predict_pb2_grpc", "inferflow_pb2", "inferflow_pb2_grpc")
        predict, predict_grpc, inferflow, inferflow_grpc = map(importlib.import_module, names)
    finally:
        sys.path.remove(str(folder))
    return predict, predict_grpc, inferflow, inferflow_grpc


class WireClient:
    """Sends the requests of a project's `requests/*.json` in their wire form."""

    def __init__(self, generated: tuple[Any, Any, Any, Any], address: str) -> None:
        self.predict_pb2, predict_grpc, self.inferflow_pb2, inferflow_grpc = generated
        self.channel = grpc.insecure_channel(address)
        self.predict = predict_grpc.PredictStub(self.channel)
        self.inferflow = inferflow_grpc.InferflowStub(self.channel)

    def request(self, document: dict[str, Any]) -> Any:
        pb2 = self.predict_pb2
        entities = dict(document["entities"])
        ids = entities.pop("product")
        fields: dict[str, Any] = {
            "model_config_id": document["model_config_id"],
            "targets": [pb2.Target(id=each) for each in ids],
            "context_features": [
                *(
                    pb2.ContextFeature(name=name, value=value.encode(), data_type=STRING)
                    for name, value in entities.items()
                ),
                *(
                    pb2.ContextFeature(name=name, value=struct.pack("<i", value), data_type=INT32)
                    for name, value in document.get("context", {}).items()
                ),
            ],
        }
        if "pairs" in document:
            (name, values), *_ = document["pair_features"].items()
            return pb2.PairWiseRequest(
                **fields,
                pair_input_schema=[pb2.FeatureSchema(name=name, data_type=FP32)],
                pairs=[
                    pb2.TargetPair(
                        first_target_index=first,
                        second_target_index=second,
                        feature_values=[struct.pack("<f", value)],
                    )
                    for (first, second), value in zip(document["pairs"], values, strict=True)
                ],
            )
        if "slates" in document:
            (name, values), *_ = document["slate_features"].items()
            return pb2.SlateWiseRequest(
                **fields,
                slate_input_schema=[pb2.FeatureSchema(name=name, data_type=FP32)],
                slates=[
                    pb2.TargetSlate(target_indices=rows, feature_values=[struct.pack("<f", value)])
                    for rows, value in zip(document["slates"], values, strict=True)
                ],
            )
        return pb2.PointWiseRequest(**fields)

    def legacy_request(self, document: dict[str, Any]) -> Any:
        pb2 = self.inferflow_pb2
        request = pb2.InferflowRequestProto(model_config_id=document["model_config_id"])
        for name, ids in {**document["entities"], **document.get("context", {})}.items():
            listed = ids if isinstance(ids, list) else [str(ids)]
            request.entities.add(entity=name, ids=listed)
        return request

    def ask(self, request: Any, **more: Any) -> Any:
        kind = type(request).__name__.removesuffix("Request")
        return getattr(self.predict, f"Infer{kind}")(request, timeout=10, **more)

    def close(self) -> None:
        self.channel.close()


def column(schema: Any, rows: Any, name: str) -> list[float]:
    """The values of one FP32 column of an answer."""
    at = [each.name for each in schema].index(name)
    assert schema[at].data_type == FP32
    return [struct.unpack("<f", row.output_values[at])[0] for row in rows]


def document(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "requests" / f"{name}.json").read_text())
    return found
