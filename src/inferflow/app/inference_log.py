"""Opens the inference log as the settings say, and keeps the schemas that decoders need.

A config that asks for logs where there is nowhere to write them is told about, once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from inferflow.app.livebook import Book
from inferflow.app.places import data_dir
from inferflow.app.setting_values import MIB
from inferflow.app.settings import Settings
from inferflow.errors import InvalidInput
from inferflow.inferlog.counting import LogCounts
from inferflow.inferlog.log import InferenceLog, Sink
from inferflow.inferlog.schema import log_schema
from inferflow.plan.schema import ServiceDoc

if TYPE_CHECKING:
    from inferflow.inferlog.consuming import LogTopic
    from inferflow.inferlog.folder import LogFolder
    from inferflow.inferlog.schemas import SchemaBook

log = logging.getLogger("inferflow.inferlog")

OFF = "off"


def sink_kind(settings: Settings) -> str:
    """`files`, `kafka` or `off`. Raises InvalidInput when Kafka is wanted and not described."""
    kafka, wanted = settings.kafka, settings.logs.sink
    is_described = bool(kafka.bootstrap_servers and kafka.logging_topic)
    if wanted == "auto":
        return "kafka" if is_described else OFF
    if wanted == "kafka" and not is_described:
        raise InvalidInput(
            "logs.sink: kafka needs brokers and a topic; set KafkaBootstrapServers and"
            " KafkaLoggingTopic"
        )
    return wanted


def log_folder(root: Path, settings: Settings) -> Path:
    return Path(settings.logs.folder) if settings.logs.folder else data_dir(root, settings) / "logs"


def open_inference_log(root: Path, settings: Settings, *, tag: str = "") -> InferenceLog | None:
    """None when it is off. `tag` begins the names of files, where several processes write some.
    The caller closes it."""
    kind = sink_kind(settings)
    if kind == OFF:
        return None
    counts = LogCounts()
    chosen = settings.logs
    sink = (
        _file_sink(root, settings, counts, tag)
        if kind == "files"
        else _kafka_sink(settings, counts)
    )
    return InferenceLog(
        sink,
        counts,
        most=chosen.queue_requests,
        most_bytes=int(chosen.queue_mb * MIB),
        keep=open_schemas(root, settings).keep,
    )


def _file_sink(root: Path, settings: Settings, counts: LogCounts, tag: str) -> Sink:
    from inferflow.inferlog.arrow import pyarrow
    from inferflow.inferlog.files import FileRules, FileSink
    from inferflow.inferlog.frames import IN_FILES

    pyarrow(IN_FILES)
    chosen = settings.logs
    rules = FileRules(
        log_folder(root, settings),
        chosen.rotate_after / 1000,
        int(chosen.rotate_mb * MIB),
        int(chosen.keep_mb * MIB),
    )
    return FileSink(rules, counts, tag=tag)


def _kafka_sink(settings: Settings, counts: LogCounts) -> Sink:
    from inferflow.inferlog.kafka import KafkaRules, KafkaSink

    kafka = settings.kafka
    rules = KafkaRules(
        kafka.chosen(),
        kafka.logging_topic,
        settings.service.v2_logging_type,
        compressed=settings.service.compression_enabled,
        compression=kafka.compression,
        delivery_timeout_ms=int(kafka.delivery_timeout),
        queue_messages=kafka.queue_messages,
        queue_bytes=int(kafka.queue_mb * MIB),
    )
    return KafkaSink(rules, counts)


def follow_service(inference_log: InferenceLog | None) -> Callable[[ServiceDoc], None]:
    """What is to be told how messages are written."""

    def told(service: ServiceDoc) -> None:
        if inference_log is not None:
            inference_log.write_as(service.v2_logging_type, compressed=service.compression_enabled)

    return told


def log_source(root: Path, settings: Settings) -> LogFolder | LogTopic:
    """Where what was logged is read back; files, where the settings say nothing."""
    if sink_kind(settings) == "kafka":
        from inferflow.inferlog.consuming import LogTopic

        kafka = settings.kafka
        return LogTopic(kafka.chosen(), kafka.logging_topic, open_schemas(root, settings).find)
    from inferflow.inferlog.folder import LogFolder

    return LogFolder(log_folder(root, settings))


def open_schemas(root: Path, settings: Settings) -> SchemaBook:
    from inferflow.inferlog.schemas import SchemaBook

    return SchemaBook(data_dir(root, settings) / "log_schemas")


def schema_keeper(
    schemas: SchemaBook, book: Callable[[], Book], *, is_off: bool
) -> Callable[[object], None]:
    """Told of every reload: keeps the log schema of whatever serves by now."""
    warned: set[str] = set()

    def keep(_: object) -> None:
        for config_id, scorer in book().live.items():
            plan = scorer.plan
            schemas.keep(log_schema(plan))
            if is_off and plan.log.percent and config_id not in warned:
                warned.add(config_id)
                hint = "set INFERFLOW_LOGS_SINK=files, or brokers and a topic of Kafka"
                percent = plan.log.percent
                extra = {"config_id": config_id, "logging_perc": percent, "hint": hint}
                log.warning("inference_log_off", extra=extra)

    return keep
