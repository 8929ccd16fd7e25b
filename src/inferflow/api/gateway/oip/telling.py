"""What models and servers say about themselves, as JSON."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict

from inferflow.client.manager.plain import plain

Message = Any


class ServerMetadata(BaseModel):
    name: str
    version: str
    extensions: list[str]


class Liveness(BaseModel):
    live: bool


class Readiness(BaseModel):
    ready: bool


class ModelReadiness(BaseModel):
    name: str
    ready: bool


class TensorMetadata(BaseModel):
    name: str
    datatype: str
    shape: list[int]


class ModelMetadata(BaseModel):
    name: str
    versions: list[str]
    platform: str
    inputs: list[TensorMetadata]
    outputs: list[TensorMetadata]


class IndexedModel(BaseModel):
    name: str
    version: str
    state: str
    reason: str


class ModelStats(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: str
    version: str


class AllModelStats(BaseModel):
    model_stats: list[ModelStats]


class ModelConfig(BaseModel):
    model_config = ConfigDict(extra="allow")

    name: str
    platform: str
    backend: str
    max_batch_size: int


class Tensor(BaseModel):
    """`data` is flat or nested; with the parameter `binary_data_size` its bytes follow the JSON."""

    name: str
    datatype: str
    shape: list[int]
    parameters: dict[str, Any] | None = None
    data: list[Any] | None = None


class AskedOutput(BaseModel):
    name: str
    parameters: dict[str, Any] | None = None


class InferenceRequest(BaseModel):
    id: str | None = None
    parameters: dict[str, Any] | None = None
    inputs: list[Tensor]
    outputs: list[AskedOutput] | None = None


class InferenceAnswer(BaseModel):
    model_name: str
    model_version: str | None = None
    id: str | None = None
    outputs: list[Tensor]


class OipError(BaseModel):
    error: str


INFERENCE_EXAMPLE: dict[str, Any] = {
    "inputs": [{"name": "x", "datatype": "FP32", "shape": [1, 2], "data": [[0.5, 1.5]]}]
}


def config_document(message: Message) -> dict[str, Any]:
    """Types by their names, as clients expect them."""
    config = message.config
    document = plain(config)
    for side in ("input", "output"):
        for told, tensor in zip(document[side], getattr(config, side), strict=True):
            types = tensor.DESCRIPTOR.fields_by_name["data_type"].enum_type
            told["data_type"] = types.values_by_number[tensor.data_type].name
    return document
