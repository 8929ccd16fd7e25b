"""Settings of tracing, the `[tracing]` table of `inferflow.toml`; the environment wins over it.

OpenTelemetry's own variables mean here what they mean elsewhere. Those that are not listed steer
its exporter directly: `OTEL_EXPORTER_OTLP_HEADERS`, `OTEL_BSP_MAX_QUEUE_SIZE` and so on.
"""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import AliasChoices, Field

from inferflow.app.env_first import Converted, EnvFirst, named
from inferflow.errors import InvalidInput
from inferflow.tracing import Sampling

Sampler = Literal[
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
]

TRACES = "/v1/traces"
HTTP = "http/protobuf"
PROTOCOLS = ("grpc", HTTP)
_PARENT = "parentbased_"


def _named(field: str, *standard: str) -> AliasChoices:
    return named(field, f"INFERFLOW_TRACING_{field.upper()}", *standard)


def _of_all_signals(url: str) -> str:
    """`OTEL_EXPORTER_OTLP_ENDPOINT` is for metrics and logs as well: over HTTP traces have a path
    below it. gRPC has no paths."""
    return f"{url.rstrip('/')}{TRACES}" if url else ""


class TracingSettings(EnvFirst):
    endpoint: Annotated[str, Converted("OTEL_EXPORTER_OTLP_ENDPOINT", _of_all_signals)] = Field(
        "",
        validation_alias=_named(
            "endpoint", "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"
        ),
    )
    """A collector that takes OTLP, such as `http://127.0.0.1:4317`, or `http://127.0.0.1:4318` over
    HTTP; `https://` for TLS. Over HTTP the path is `/v1/traces` unless the URL has another.
    Nothing is traced when empty."""
    sample: Annotated[float, Field(ge=0, le=1)] = Field(
        1.0, validation_alias=_named("sample", "OTEL_TRACES_SAMPLER_ARG")
    )
    """The share of traces that is kept, of those that begin here."""
    sampler: Sampler = Field(
        "parentbased_traceidratio", validation_alias=_named("sampler", "OTEL_TRACES_SAMPLER")
    )
    """Which traces are kept. With `parentbased_…` callers that trace decide for their own;
    `…always_on` and `…always_off` ignore `sample`."""
    service_name: str = Field("", validation_alias=_named("service_name", "OTEL_SERVICE_NAME"))
    """What this process is called in traces; `<app_name>-<role>` when empty."""
    exporter: str = Field("otlp", validation_alias=_named("exporter", "OTEL_TRACES_EXPORTER"))
    """`otlp`, or `none` to trace nothing."""
    protocol: str = Field(
        "grpc",
        validation_alias=_named(
            "protocol", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"
        ),
    )
    """How the collector is spoken to: `grpc` (mostly on port 4317) or `http/protobuf` (4318)."""
    disabled: bool = Field(False, validation_alias=_named("disabled", "OTEL_SDK_DISABLED"))
    """Trace nothing, whatever else is set."""

    def collector(self) -> str:
        """Where spans go; empty when nothing is traced. Raises InvalidInput for what this version
        does not speak."""
        if self.disabled or not self.endpoint or self.exporter == "none":
            return ""
        if "otlp" not in self.exporter.split(","):
            raise InvalidInput(f"tracing.exporter: {self.exporter!r}; otlp or none is wanted")
        if self.protocol not in PROTOCOLS:
            raise InvalidInput(
                f"tracing.protocol: {self.protocol!r}; {' or '.join(PROTOCOLS)} is wanted"
            )
        url = urlsplit(self.endpoint if "://" in self.endpoint else f"http://{self.endpoint}")
        path = url.path.rstrip("/")
        return urlunsplit(url._replace(path=(path or TRACES) if self.is_http else ""))

    @property
    def is_http(self) -> bool:
        return self.protocol == HTTP

    def sampling(self) -> Sampling:
        share = {"always_on": 1.0, "always_off": 0.0}
        kind = self.sampler.removeprefix(_PARENT)
        return Sampling(share.get(kind, self.sample), self.sampler.startswith(_PARENT))
