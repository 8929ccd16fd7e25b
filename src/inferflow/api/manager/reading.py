"""Messages as the values the manager's services take."""

from __future__ import annotations

import json
from typing import Any

from inferflow.access import RateLimit
from inferflow.errors import InvalidInput
from inferflow.serving.manager.discovery import Wanted
from inferflow.serving.manager.joining import Joining
from inferflow.serving.manager.keys import KeyOrder
from inferflow.serving.manager.names import check_version
from inferflow.serving.manager.orders import UploadOrder
from inferflow.serving.manager.reports import DeviceReport, Latency, ModelReport, WorkerReport
from inferflow.serving.manager.stages import parse_stage
from inferflow.serving.manager.storage.records import FileInfo, Stage

Message = Any


def wanted(message: Message) -> Wanted:
    return Wanted(
        model=message.model,
        number=check_version(message.version),
        stage=optional_stage(message.stage),
        needs_gpu=message.needs_gpu,
        affinity_key=message.affinity_key,
        avoid=frozenset(message.avoid),
        limit=message.limit,
    )


def optional_stage(text: str) -> Stage | None:
    return parse_stage(text, default=Stage.DEV) if text else None


def named_version(text: str) -> int:
    """For calls that are about one version. Raises InvalidInput without it."""
    number = check_version(text)
    if number is None:
        raise InvalidInput("version: say which")
    return number


def joining(message: Message) -> Joining:
    return Joining(
        worker_id=message.worker_id,
        address=message.address,
        devices=tuple(map(_device, message.devices)),
        slots=message.slots,
        memory_budget_bytes=message.memory_budget_bytes,
        labels=dict(message.labels),
        software_version=message.software_version,
    )


def report(message: Message) -> WorkerReport:
    return WorkerReport(
        cpu_percent=message.cpu_percent,
        memory_bytes=message.memory_bytes,
        in_flight=message.in_flight,
        queued=message.queued,
        requests=message.requests,
        failures=message.failures,
        latency=_latency(message),
        devices=tuple(map(_device, message.devices)),
        models=tuple(map(_model, message.models)),
    )


def upload_order(message: Message) -> UploadOrder:
    return UploadOrder(
        model=message.model,
        files=tuple(FileInfo(file.path, file.size, file.sha256) for file in message.files),
        number=check_version(message.version),
        options=_options(message.options_json),
        description=message.description,
    )


def key_order(message: Message) -> KeyOrder:
    rate = None
    if message.requests_per_second or message.burst:
        # Room for one second's worth, unless said otherwise.
        burst = message.burst or max(1, round(message.requests_per_second))
        rate = RateLimit(message.requests_per_second, burst)
    return KeyOrder(
        name=message.name,
        permissions=list(message.permissions),
        models=list(message.models),
        expires_ms=message.expires_ms or None,
        rate=rate,
    )


def _options(text: str) -> dict[str, Any]:
    if not text:
        return {}
    try:
        options = json.loads(text)
    except (ValueError, RecursionError) as failed:
        raise InvalidInput(f"options_json: {failed}") from failed
    if not isinstance(options, dict):
        raise InvalidInput("options_json: a JSON object is wanted")
    return options


def _device(message: Message) -> DeviceReport:
    return DeviceReport(
        message.kind,
        message.index,
        message.name,
        message.memory_bytes,
        message.memory_used_bytes,
        message.utilisation,
    )


def _latency(message: Message) -> Latency:
    return Latency(message.latency_p50_ms, message.latency_p95_ms, message.latency_p99_ms)


def _model(message: Message) -> ModelReport:
    return ModelReport(
        message.model,
        message.version,
        message.state,
        message.digest,
        message.memory_bytes,
        message.requests,
        message.failures,
        _latency(message),
        message.reason,
        message.is_corrupt,
    )
