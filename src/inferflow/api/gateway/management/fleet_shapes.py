"""Models, workers, keys and changes of a fleet as JSON: fields as its manager has them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Stage = Literal["dev", "staging", "production", "archived"]
Permission = Literal["inference", "view", "configure", "upload", "admin", "worker"]


class TensorShape(BaseModel):
    name: str
    datatype: str
    shape: list[int] = Field(description="-1: any size.")


class ModelFile(BaseModel):
    path: str
    size: int
    sha256: str


class StageMove(BaseModel):
    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    from_: str = Field(alias="from")
    to: str
    at_ms: int
    by: str
    reason: str


class FleetModelVersion(BaseModel):
    model_config = ConfigDict(extra="allow")

    model: str
    version: str
    stage: str
    digest: str
    size: int
    created_ms: int
    created_by: str
    inputs: list[TensorShape]
    outputs: list[TensorShape]
    files: list[ModelFile]
    history: list[StageMove]
    options_json: str
    description: str
    loaded_on: list[str] = Field(description="Workers that hold it.")
    problem: str = Field(description="Why it cannot be served; empty when it can.")
    note: str


class FleetModel(BaseModel):
    name: str
    versions: list[FleetModelVersion]
    traffic: dict[str, float] = Field(
        description="Percent by version; empty when production gets all."
    )


class FleetModelList(BaseModel):
    models: list[FleetModel]


class PromoteBody(BaseModel):
    model_config = ConfigDict(extra="forbid")

    stage: Stage
    reason: str = Field("", max_length=2_000)


class Device(BaseModel):
    model_config = ConfigDict(extra="allow")

    kind: str = Field(description="cpu or cuda.")
    index: int
    name: str
    memory_bytes: int
    memory_used_bytes: int
    utilisation: float = Field(description="0 to 1.")


class LoadedModel(BaseModel):
    model_config = ConfigDict(extra="allow")

    model: str
    version: str
    digest: str
    memory_bytes: int
    requests: int
    failures: int
    latency_p50_ms: float
    latency_p95_ms: float
    latency_p99_ms: float
    state: str
    reason: str


class WorkerReport(BaseModel):
    model_config = ConfigDict(extra="allow")

    cpu_percent: float
    memory_bytes: int
    devices: list[Device]
    in_flight: int
    queued: int
    latency_p50_ms: float
    latency_p95_ms: float
    latency_p99_ms: float
    requests: int
    failures: int
    models: list[LoadedModel]


class FleetWorker(BaseModel):
    model_config = ConfigDict(extra="allow")

    worker_id: str
    address: str
    state: str = Field(description="online, suspect, offline or draining.")
    registered_ms: int
    last_seen_ms: int
    slots: int
    devices: list[Device]
    report: WorkerReport
    labels: dict[str, str]
    software_version: str


class FleetWorkerList(BaseModel):
    workers: list[FleetWorker]


class Rate(BaseModel):
    model_config = ConfigDict(extra="forbid")

    per_second: float = Field(gt=0, le=1e9, examples=[100])
    burst: int = Field(0, ge=0, le=2**31 - 1, description="At most so many at once.")


class KeyBody(BaseModel):
    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"example": {"name": "shop", "permissions": ["inference", "view"]}},
    )

    name: str = Field(min_length=1, max_length=200)
    permissions: list[Permission] = Field(min_length=1)
    models: list[str] = Field([], description="Patterns such as rank*; none: all models.")
    expires_ms: int | None = Field(None, ge=0, le=2**53)
    rate: Rate | None = None


class FleetKey(BaseModel):
    model_config = ConfigDict(extra="allow")

    key_id: str
    name: str
    permissions: list[str]
    models: list[str]
    created_ms: int
    expires_ms: int = Field(description="0: never.")
    revoked_ms: int = Field(description="0: it has not been.")
    requests_per_second: float
    burst: int
    requests: int
    last_used_ms: int
    is_own: bool = Field(
        False, description="What this gateway calls the fleet with; it cannot be revoked here."
    )


class FleetKeyList(BaseModel):
    keys: list[FleetKey]


class NewKey(BaseModel):
    key: FleetKey
    text: str = Field(description="The key itself. It is shown this once.")


class AuditEntry(BaseModel):
    at_ms: int
    by: str
    action: str
    subject: str
    detail_json: str


class AuditList(BaseModel):
    entries: list[AuditEntry]


class Done(BaseModel):
    """What was asked for has been done."""

    done: bool = True


UPLOAD: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {
            "multipart/form-data": {
                "schema": {
                    "type": "object",
                    "required": ["file"],
                    "properties": {
                        "file": {
                            "type": "array",
                            "items": {"type": "string", "format": "binary"},
                            "description": "One ONNX file, or model.onnx and those beside it.",
                        },
                        "version": {"type": "string", "description": "Its number, else the next."},
                        "stage": {"type": "string", "description": "Where it begins, else dev."},
                        "description": {"type": "string"},
                    },
                }
            }
        },
    }
}
