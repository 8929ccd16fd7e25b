"""What the manager's services know, as messages."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from inferflow._proto.pool import message_class
from inferflow.access import KeyCard
from inferflow.serving.manager.briefing import Briefing
from inferflow.serving.manager.discovery import Found
from inferflow.serving.manager.fleet import Fleet, ModelKey
from inferflow.serving.manager.reports import DeviceReport, Latency, WorkerReport
from inferflow.serving.manager.roster import KnownWorker
from inferflow.serving.manager.storage.records import (
    AuditEntry,
    FileInfo,
    Model,
    StageChange,
    Tensor,
    Upload,
    Usage,
    Version,
)

Message = Any
Holders = Mapping[ModelKey, list[str]]
"""Which workers hold which version."""


def declared(name: str) -> Any:
    """The class of one of the manager's messages."""
    return message_class(f"inferflow.serving.v1.{name}")


def found(it: Found) -> Message:
    message = declared("DiscoverResponse")(
        model=it.session.model,
        version=it.session.version,
        token=it.session.token,
        token_expires_ms=it.session.expires_ms,
    )
    for chosen in it.workers:
        message.workers.add(
            worker_id=chosen.worker.worker_id,
            address=chosen.worker.address,
            has_model_loaded=chosen.has_model,
        )
    return message


def holders(fleet: Fleet) -> Holders:
    held: dict[ModelKey, list[str]] = {}
    for worker_id, view in sorted(fleet.workers.items()):
        for key in view.load.loaded:
            held.setdefault(key, []).append(worker_id)
    return held


def model(it: Model, held: Holders) -> Message:
    return declared("Model")(
        name=it.name,
        versions=[version(each, held) for each in it.versions],
        traffic={str(number): percent for number, percent in it.traffic.items()},
    )


def version(it: Version, held: Holders) -> Message:
    return declared("ModelVersion")(
        model=it.model,
        version=str(it.number),
        stage=it.stage.value,
        digest=it.digest,
        size=it.size,
        created_ms=it.created_ms,
        created_by=it.created_by,
        inputs=map(_tensor, it.inputs),
        outputs=map(_tensor, it.outputs),
        files=map(_file, it.files),
        history=map(_change, it.history),
        options_json=_json(it.options),
        description=it.description,
        loaded_on=held.get((it.model, str(it.number)), ()),
        problem=it.problem,
        note=it.note,
    )


def upload(it: Upload) -> Message:
    message = declared("UploadStatus")(
        upload_id=it.upload_id, model=it.model, version=str(it.number), expires_ms=it.expires_ms
    )
    for file in it.files:
        message.files.add(path=file.path, size=file.size, received=file.received)
    return message


def worker(it: KnownWorker) -> Message:
    return declared("Worker")(
        worker_id=it.record.worker_id,
        address=it.record.address,
        state=it.state.value,
        registered_ms=it.record.registered_ms,
        last_seen_ms=int(it.view.last_seen_s * 1000),
        slots=it.record.slots,
        devices=[_device(DeviceReport(**device)) for device in it.record.devices],
        report=report(it.report),
        labels=it.record.labels,
        software_version=it.record.software_version,
    )


def report(it: WorkerReport) -> Message:
    message = declared("WorkerReport")(
        cpu_percent=it.cpu_percent,
        memory_bytes=it.memory_bytes,
        devices=map(_device, it.devices),
        in_flight=it.in_flight,
        queued=it.queued,
        requests=it.requests,
        failures=it.failures,
        **_latency(it.latency),
    )
    for each in it.models:
        message.models.add(
            model=each.model,
            version=each.version,
            digest=each.digest,
            memory_bytes=each.memory_bytes,
            requests=each.requests,
            failures=each.failures,
            state=each.state,
            reason=each.reason,
            is_corrupt=each.is_corrupt,
            **_latency(each.latency),
        )
    return message


def briefing(it: Briefing) -> Message:
    message = declared("WorkerOrders")(
        etag=it.etag,
        revoked_key_ids=sorted(it.revocations.key_ids),
        revoked_token_ids=sorted(it.revocations.token_ids),
        drain=it.drain,
    )
    for key in it.verifying_keys:
        message.verifying_keys.add(key_id=key.kid, public_key=key.public)
    for each in it.versions:
        message.models.add(
            model=each.model,
            version=str(each.number),
            digest=each.digest,
            stage=each.stage.value,
            files=map(_file, each.files),
            options_json=_json(each.options),
        )
    for name, number in it.prefetch:
        message.prefetch.add(model=name, version=number)
    for key_id, rate in sorted(it.limits.items()):
        message.key_limits.add(key_id=key_id, requests_per_second=rate.per_second, burst=rate.burst)
    return message


def key(card: KeyCard, usage: Usage) -> Message:
    return declared("ApiKey")(
        key_id=card.key_id,
        name=card.name,
        permissions=sorted(card.permissions),
        models=card.models.patterns,
        created_ms=card.created_ms,
        expires_ms=card.expires_ms or 0,
        revoked_ms=card.revoked_ms or 0,
        requests_per_second=card.rate.per_second if card.rate else 0,
        burst=card.rate.burst if card.rate else 0,
        requests=usage.requests,
        last_used_ms=usage.last_used_ms,
    )


def audit(entries: Iterable[AuditEntry]) -> Message:
    message = declared("ListAuditResponse")()
    for each in entries:
        message.entries.add(
            at_ms=each.at_ms,
            by=each.by,
            action=each.action,
            subject=each.subject,
            detail_json=_json(each.detail),
        )
    return message


def _tensor(it: Tensor) -> Message:
    return declared("Tensor")(name=it.name, datatype=it.datatype, shape=it.shape)


def _file(it: FileInfo) -> Message:
    return declared("ModelFileInfo")(path=it.path, size=it.size, sha256=it.sha256)


def _change(it: StageChange) -> Message:
    facts = {"from": it.from_stage.value if it.from_stage else "", "to": it.to_stage.value}
    return declared("StageChange")(**facts, at_ms=it.at_ms, by=it.by, reason=it.reason)


def _device(it: DeviceReport) -> Message:
    return declared("Device")(
        kind=it.kind,
        index=it.index,
        name=it.name,
        memory_bytes=it.memory_bytes,
        memory_used_bytes=it.memory_used_bytes,
        utilisation=it.utilisation,
    )


def _latency(it: Latency) -> dict[str, float]:
    return {
        "latency_p50_ms": it.p50_ms,
        "latency_p95_ms": it.p95_ms,
        "latency_p99_ms": it.p99_ms,
    }


def _json(value: Mapping[str, Any]) -> str:
    return json.dumps(dict(value)) if value else ""
