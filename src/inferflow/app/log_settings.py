"""The inference log: `[logs]`, where it goes and how much may wait; `[kafka]`, the brokers."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from inferflow.app.env_first import EnvFirst, named
from inferflow.app.setting_values import Count, Listed, Mebibytes, Milliseconds, Secret


class LogSettings(EnvFirst):
    sink: Literal["auto", "files", "kafka", "off"] = Field(
        "auto", validation_alias=named("sink", "INFERFLOW_LOGS_SINK")
    )
    """Where inference logs go: Parquet `files`, `kafka`, nowhere (`off`); `auto` means Kafka when
    brokers and a topic are set, else nowhere."""
    folder: str = Field("", validation_alias=named("folder", "INFERFLOW_LOGS_FOLDER"))
    """For files; `logs` in the data folder when empty."""
    rotate_after: Milliseconds = Field(
        60_000, gt=0, validation_alias=named("rotate_after", "INFERFLOW_LOGS_ROTATE_AFTER")
    )
    """A file this old is closed, and can be read from then on."""
    rotate_mb: Mebibytes = Field(
        128, validation_alias=named("rotate_mb", "INFERFLOW_LOGS_ROTATE_MB")
    )
    """So is one with this much in it, before compression."""
    keep_mb: Mebibytes = Field(4096, validation_alias=named("keep_mb", "INFERFLOW_LOGS_KEEP_MB"))
    """When all files take more than this, the oldest are deleted."""
    queue_requests: Count = Field(
        10_000, validation_alias=named("queue_requests", "INFERFLOW_LOGS_QUEUE_REQUESTS")
    )
    """Most requests that wait to be logged; the surplus is dropped and counted."""
    queue_mb: Mebibytes = Field(64, validation_alias=named("queue_mb", "INFERFLOW_LOGS_QUEUE_MB"))
    """Most memory they may keep, about."""
    flush_timeout: Milliseconds = Field(
        5_000, validation_alias=named("flush_timeout", "INFERFLOW_LOGS_FLUSH_TIMEOUT")
    )
    """At the end of a process, for what is left to be written."""


class KafkaSettings(EnvFirst):
    bootstrap_servers: Listed = Field(
        (),
        validation_alias=named(
            "bootstrap_servers", "KafkaBootstrapServers", "KAFKA_BOOTSTRAP_SERVERS"
        ),
    )
    """Brokers to start from, as `host:port` with commas between."""
    logging_topic: str = Field(
        "",
        validation_alias=named(
            "logging_topic", "KafkaLoggingTopic", "KAFKA_LOGGING_TOPIC", "KAFKA_V2_LOG_TOPIC"
        ),
    )
    """Where inference logs go."""
    compression: Literal["none", "gzip", "snappy", "lz4", "zstd"] = Field(
        "lz4", validation_alias=named("compression", "INFERFLOW_KAFKA_COMPRESSION")
    )
    """Of batches of messages, on their way and in the brokers."""
    delivery_timeout: Milliseconds = Field(
        120_000,
        gt=0,
        validation_alias=named("delivery_timeout", "INFERFLOW_KAFKA_DELIVERY_TIMEOUT"),
    )
    """A message that no broker has taken for this long has expired."""
    queue_messages: Count = Field(
        50_000, validation_alias=named("queue_messages", "INFERFLOW_KAFKA_QUEUE_MESSAGES")
    )
    """Most messages that wait for a broker; the surplus is dropped and counted."""
    queue_mb: Mebibytes = Field(64, validation_alias=named("queue_mb", "INFERFLOW_KAFKA_QUEUE_MB"))
    """Most memory they may take."""
    security_protocol: Literal["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"] = Field(
        "plaintext",
        validation_alias=named("security_protocol", "INFERFLOW_KAFKA_SECURITY_PROTOCOL"),
    )
    """How brokers are spoken to."""
    sasl_mechanism: str = Field(
        "", validation_alias=named("sasl_mechanism", "INFERFLOW_KAFKA_SASL_MECHANISM")
    )
    """`PLAIN`, `SCRAM-SHA-256` or `SCRAM-SHA-512`, where they ask who it is."""
    sasl_username: str = Field(
        "", validation_alias=named("sasl_username", "INFERFLOW_KAFKA_SASL_USERNAME")
    )
    """Who logs in."""
    sasl_password: Secret = Field(
        Secret(""), validation_alias=named("sasl_password", "INFERFLOW_KAFKA_SASL_PASSWORD")
    )
    """And how."""
    ca_file: str = Field("", validation_alias=named("ca_file", "INFERFLOW_KAFKA_CA_FILE"))
    """Who has signed the brokers' certificates; the system's own when empty."""
    cert_file: str = Field("", validation_alias=named("cert_file", "INFERFLOW_KAFKA_CERT_FILE"))
    """A certificate to show to them; none when empty."""
    key_file: str = Field("", validation_alias=named("key_file", "INFERFLOW_KAFKA_KEY_FILE"))
    """And its key."""

    def chosen(self) -> dict[str, str]:
        """How to reach the brokers, in their client's own words."""
        words = {
            "bootstrap.servers": ",".join(self.bootstrap_servers),
            "security.protocol": self.security_protocol,
            "sasl.mechanism": self.sasl_mechanism,
            "sasl.username": self.sasl_username,
            "sasl.password": self.sasl_password.get_secret_value(),
            "ssl.ca.location": self.ca_file,
            "ssl.certificate.location": self.cert_file,
            "ssl.key.location": self.key_file,
        }
        return {name: value for name, value in words.items() if value}
