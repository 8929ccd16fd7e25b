"""The inference log as Kafka messages. The one home of the Kafka client's producer.

Each message is delivered once (idempotent, acknowledged by all in-sync replicas), dropped because
there was no room or the brokers would not have it, or expired because nobody took it in time. The
client's own threads do the sending; its queue is bounded in messages and bytes, and when it is
full new messages stay out. Brokers that are away are told about now and then, not per message.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from inferflow.errors import InvalidInput, MissingExtra
from inferflow.inferlog.counting import EXPIRED, FULL, REFUSED, LogCounts
from inferflow.inferlog.message import Format, LogMessage, MessageWriter
from inferflow.inferlog.taken import Taken
from inferflow.tracing import Span

log = logging.getLogger(__name__)

QUIET_S = 10.0
"""Between two lines about brokers."""
_POLL_EVERY = 64
"""Messages between two looks at what became of earlier ones."""
_LARGEST = 900_000
"""Of a message, beside the brokers' usual limit of a million."""


@dataclass(frozen=True, slots=True)
class KafkaRules:
    client: Mapping[str, str]
    """How to reach the brokers, in the client's own words."""
    topic: str
    format: Format = "proto"
    compressed: bool = False
    """Each message, beside what is done on the way."""
    compression: str = "lz4"
    delivery_timeout_ms: int = 120_000
    queue_messages: int = 50_000
    queue_bytes: int = 64 * 1024 * 1024
    linger_ms: int = 20


class KafkaSink:
    def __init__(
        self,
        rules: KafkaRules,
        counts: LogCounts,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._kafka = confluent_kafka("inference logs to Kafka")
        self._rules = rules
        self._counts = counts
        self._clock = clock
        self._told = -QUIET_S
        self._writers: dict[str, tuple[tuple[str, KafkaRules], MessageWriter]] = {}
        self._sent = 0
        self._delivered: Counter[str] = Counter()
        self._producer = self._open()

    def write(self, taken: Taken) -> None:
        messages = self._writer(taken).write(taken)
        more = len(messages) - taken.log.messages(taken.run)
        if more:
            self._counts.produced(more)
        for message in messages:
            self._send(message, taken.span)
        self._sent += len(messages)
        if self._sent >= _POLL_EVERY:
            self.tick()

    def write_as(self, format: Format, *, compressed: bool) -> None:
        self._rules = replace(self._rules, format=format, compressed=compressed)

    def tick(self) -> None:
        self._sent = 0
        self._producer.poll(0)
        self._count_delivered()

    def close(self, until: float) -> None:
        self._producer.flush(max(0.0, until - self._clock()))
        if len(self._producer):
            self._producer.purge()
            self._producer.flush(1.0)
        self._count_delivered()

    def _count_delivered(self) -> None:
        for config_id, messages in self._delivered.items():
            self._counts.delivered(config_id, messages)
        self._delivered.clear()

    def _send(self, message: LogMessage, caller: Span | None) -> None:
        config_id = message.config_id
        span = None if caller is None else self._span(caller)

        def ended(error: Any, _: Any) -> None:
            if span is not None:
                span.end(None if error is None else error.name())
            if error is None:
                self._delivered[config_id] += 1
            else:
                self._lost(config_id, error)

        try:
            self._producer.produce(
                self._rules.topic,
                message.value,
                headers=[*message.headers, *(() if span is None else span.headers())],
                on_delivery=ended,
            )
        except BufferError:
            self._counts.lost(config_id, FULL, 1)
            if span is not None:
                span.end(FULL)
        except self._kafka.KafkaException as refused:
            self._lost(config_id, refused.args[0])
            if span is not None:
                span.end(refused.args[0].name())

    def _span(self, caller: Span) -> Span:
        """From the moment a message is handed over until brokers have it, or will not."""
        topic = self._rules.topic
        span = caller.child(f"send {topic}", "producer")
        span.facts.update(
            {
                "messaging.system": "kafka",
                "messaging.operation.name": "send",
                "messaging.destination.name": topic,
            }
        )
        return span

    def _lost(self, config_id: str, error: Any) -> None:
        kinds = self._kafka.KafkaError
        has_expired = error.code() in (
            kinds._MSG_TIMED_OUT,
            kinds._PURGE_QUEUE,
            kinds._PURGE_INFLIGHT,
            kinds._TIMED_OUT,
        )
        self._counts.lost(config_id, EXPIRED if has_expired else REFUSED, 1)
        self._tell(error)

    def _tell(self, error: Any) -> None:
        """At most a line per `QUIET_S`."""
        now = self._clock()
        if now - self._told >= QUIET_S:
            self._told = now
            log.warning("kafka_unavailable", extra={"error": error.name(), "reason": error.str()})

    def _writer(self, taken: Taken) -> MessageWriter:
        rules = self._rules
        version = (taken.log.plan.digest, rules)
        known = self._writers.get(taken.config_id)
        if known is None or known[0] != version:
            writer = MessageWriter(
                taken.log, rules.format, compressed=rules.compressed, largest=_LARGEST
            )
            known = self._writers[taken.config_id] = (version, writer)
        return known[1]

    def _open(self) -> Any:
        rules = self._rules
        quiet = logging.getLogger(f"{__name__}.client")
        quiet.disabled = True  # what matters comes as errors, which are told more rarely
        options = {
            **rules.client,
            "enable.idempotence": True,
            "acks": "all",
            "compression.type": rules.compression,
            "linger.ms": rules.linger_ms,
            "delivery.timeout.ms": rules.delivery_timeout_ms,
            "queue.buffering.max.messages": rules.queue_messages,
            "queue.buffering.max.kbytes": max(1, rules.queue_bytes // 1024),
            "error_cb": self._tell,
            "logger": quiet,
        }
        try:
            return self._kafka.Producer(options)
        except (self._kafka.KafkaException, ValueError) as refused:
            raise InvalidInput(f"kafka: {refused}") from refused


def confluent_kafka(for_what: str) -> Any:
    try:
        import confluent_kafka as client
    except ModuleNotFoundError as missing:
        raise MissingExtra("kafka", for_what=for_what) from missing
    return client
