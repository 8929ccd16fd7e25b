"""Inference logs in Kafka, read back, without a trace: no group is joined and no offset is kept."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any

from inferflow.errors import Unreachable
from inferflow.inferlog.decoding import FindSchema, LoggedRows, decode_message
from inferflow.inferlog.kafka import confluent_kafka
from inferflow.inferlog.stats import LogStats


class LogTopic:
    """A topic of inference logs."""

    def __init__(self, client: Mapping[str, str], topic: str, find: FindSchema) -> None:
        self._kafka = confluent_kafka("reading inference logs from Kafka")
        self._client = dict(client)
        self._topic = topic
        self._find = find
        self.patience_s = 10.0
        """For brokers to say what there is."""

    def messages(
        self, *, last: int | None = None, follow: bool = False
    ) -> Iterator[tuple[bytes, dict[str, str]]]:
        """Values and headers, partition by partition as they come: all there are now, or the last
        so many of each partition; with `follow`, also those that come later."""
        consumer = self._kafka.Consumer(
            {**self._client, "group.id": "inferflow-logs", "enable.auto.commit": False}
        )
        try:
            ends = self._assign(consumer, last)
            while ends or follow:
                message = consumer.poll(0.2)
                if message is None:
                    continue
                if message.error() is not None:
                    raise self._unreachable(message.error())
                yield message.value(), _headers(message)
                if ends.get(message.partition(), 0) <= message.offset() + 1:
                    ends.pop(message.partition(), None)
        finally:
            consumer.close()

    def rows(self, *, last: int | None = None, follow: bool = False) -> Iterator[LoggedRows]:
        """The same, decoded."""
        for value, headers in self.messages(last=last, follow=follow):
            yield decode_message(value, self._find, headers)

    def stats(self) -> list[LogStats]:
        found: dict[str, LogStats] = {}
        requests: dict[str, set[tuple[int | None, str]]] = {}
        for value, headers in self.messages():
            rows = decode_message(value, None, headers)
            stats = found.setdefault(rows.config_id, LogStats(rows.config_id))
            stats.parts += 1
            stats.size_bytes += len(value)
            stats.rows[rows.rows] += len(rows.ids)
            stats.config_versions[rows.config_version] += len(rows.ids)
            for step, used in rows.models.items():
                stats.models[f"{step}@{used.rpartition('@')[2]}"] += len(rows.ids)
            if rows.at is not None:
                stats.saw(rows.at)
            seen = requests.setdefault(rows.config_id, set())
            seen.add((rows.at, rows.tracking_id))
            stats.requests = len(seen)
        return [found[config] for config in sorted(found)]

    def _unreachable(self, error: Any) -> Unreachable:
        return Unreachable(self._client["bootstrap.servers"], 1, f"{self._topic}: {error.str()}")

    def _assign(self, consumer: Any, last: int | None) -> dict[int, int]:
        """Begin where it was asked for; says where each partition ends now."""
        until = time.monotonic() + self.patience_s
        try:
            described = consumer.list_topics(self._topic, timeout=self.patience_s).topics[
                self._topic
            ]
            if described.error is not None:
                raise self._unreachable(described.error)
            places, ends = [], {}
            for number in described.partitions:
                partition = self._kafka.TopicPartition(self._topic, number)
                left = max(0.1, until - time.monotonic())
                low, high = consumer.get_watermark_offsets(partition, timeout=left)
                partition.offset = low if last is None else max(low, high - last)
                places.append(partition)
                if partition.offset < high:
                    ends[number] = high
            consumer.assign(places)
        except self._kafka.KafkaException as failed:
            raise self._unreachable(failed.args[0]) from failed
        return ends


def _headers(message: Any) -> dict[str, str]:
    return {name: value.decode() for name, value in message.headers() or ()}
