"""What a worker says about itself and its models, as messages of the protocol."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from inferflow._proto.pool import message_class
from inferflow._version import __version__
from inferflow.client.oip.datatypes import DATATYPE_NAMES
from inferflow.plan.catalog import ModelSignature, TensorInfo
from inferflow.serving.worker.queue import BatchRules
from inferflow.serving.worker.resident import Resident, State
from inferflow.serving.worker.stats import ModelStats, Spent

Message = Any

PLATFORM = "onnxruntime_onnx"
_BACKEND = "onnxruntime"
_EXTENSIONS = ("model_repository", "model_configuration", "schedule_policy", "statistics")

_ServerMetadata = message_class("inference.ServerMetadataResponse")
_ModelMetadata = message_class("inference.ModelMetadataResponse")
_ModelConfig = message_class("inference.ModelConfigResponse")
_Statistics = message_class("inference.ModelStatisticsResponse")
_Index = message_class("inference.RepositoryIndexResponse")


def server_metadata() -> Message:
    return _ServerMetadata(name="inferflow", version=__version__, extensions=_EXTENSIONS)


def model_metadata(signature: ModelSignature, versions: Iterable[str]) -> Message:
    answer = _ModelMetadata(name=signature.model, versions=versions, platform=PLATFORM)
    for sides, infos in ((answer.inputs, signature.inputs), (answer.outputs, signature.outputs)):
        for info in infos:
            sides.add(name=info.name, datatype=DATATYPE_NAMES[info.dtype], shape=_sizes(info))
    return answer


def model_config(signature: ModelSignature, rules: BatchRules) -> Message:
    """With batching, the first dimension is the batch's and is left out, as clients expect."""
    answer = _ModelConfig()
    config = answer.config
    config.name, config.platform, config.backend = signature.model, PLATFORM, _BACKEND
    batched = rules.max_rows > 1
    if batched:
        config.max_batch_size = rules.max_rows
        config.dynamic_batching.preferred_batch_size.extend(rules.preferred)
        config.dynamic_batching.max_queue_delay_microseconds = int(rules.max_delay_s * 1e6)
    for sides, infos in ((config.input, signature.inputs), (config.output, signature.outputs)):
        for info in infos:
            sides.add(name=info.name, data_type=_type(info), dims=_sizes(info)[int(batched) :])
    return answer


def statistics(residents: Iterable[Resident]) -> Message:
    answer = _Statistics()
    for resident in residents:
        _fill(answer.model_stats.add(name=resident.model, version=resident.version), resident)
    return answer


def index(residents: Iterable[Resident], *, only_ready: bool) -> Message:
    answer = _Index()
    for each in residents:
        if not only_ready or each.state is State.READY:
            answer.models.add(
                name=each.model, version=each.version, state=each.state, reason=each.reason
            )
    return answer


def _fill(message: Message, resident: Resident) -> None:
    stats: ModelStats = resident.stats
    message.last_inference = stats.last_ms
    message.inference_count = stats.rows
    message.execution_count = stats.infer.count
    for name in ("success", "fail", "queue"):
        _spent(getattr(message.inference_stats, name), getattr(stats, name))
    _spent(message.inference_stats.compute_infer, stats.infer)
    for rows, spent in sorted(stats.batches.items()):
        _spent(message.batch_stats.add(batch_size=rows).compute_infer, spent)
    if resident.memory_bytes:
        message.memory_usage.add(type="CPU", id=0, byte_size=resident.memory_bytes)


def _spent(message: Message, spent: Spent) -> None:
    message.count, message.ns = spent.count, spent.ns


def _sizes(info: TensorInfo) -> list[int]:
    return [-1 if size is None else size for size in info.shape]


def _type(info: TensorInfo) -> str:
    name = DATATYPE_NAMES[info.dtype]
    return "TYPE_STRING" if name == "BYTES" else f"TYPE_{name}"
