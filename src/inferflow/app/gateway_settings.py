"""Settings of a gateway, the `[gateway]` table of `inferflow.toml`; the environment wins."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, AliasChoices, Field

from inferflow.app.env_first import EnvFirst, named
from inferflow.app.setting_values import Count, Listed, Mebibytes, Milliseconds, Port


def _named(field: str) -> AliasChoices:
    return named(field, f"INFERFLOW_GATEWAY_{field.upper()}", f"GATEWAY_{field.upper()}")


def _rate(text: str) -> str:
    number, _, per = text.partition("/")
    if text and not (number.strip().isdecimal() and per.strip() in _PER):
        raise ValueError(f"{text!r} is not a number per {', '.join(_PER)}, such as 100/second")
    return text


_PER = ("second", "minute", "hour", "day")


class GatewaySettings(EnvFirst):
    enabled: bool = Field(True, validation_alias=_named("enabled"))
    """`inferflow up` answers HTTP and shows the web pages too, where the extra `gateway` is
    installed."""
    bind: str = Field(
        "127.0.0.1",
        validation_alias=named("bind", "INFERFLOW_GATEWAY_BIND", "GATEWAY_BIND", "INFERFLOW_BIND"),
    )
    """Address to listen on; only this machine reaches the default."""
    auth: Literal["on", "off"] = Field("on", validation_alias=named("auth"))
    """`off` lets everybody call, from wherever the gateway can be reached."""
    port: Port = Field(8080, validation_alias=_named("port"))
    """HTTP. 0 takes any free port."""
    target: str = Field("127.0.0.1:50051", validation_alias=_named("target"))
    """The orchestrator that scores, as `host:port`; several, with commas between, share the
    calls. `inferflow up` asks itself."""
    models: str = Field("", validation_alias=_named("models"))
    """Who answers below `/v2`: a worker as `host:port`, or a fleet as `manager://host:port`.
    Nobody when empty; `inferflow up` asks its own fleet, where it has one."""
    metrics_from: Listed = Field((), validation_alias=_named("metrics_from"))
    """Where live numbers come from: URLs of metrics in the Prometheus text format."""
    default_deadline: Milliseconds = Field(1_000, gt=0, validation_alias=_named("default_deadline"))
    """For callers that name no deadline."""
    max_deadline: Milliseconds = Field(10_000, gt=0, validation_alias=_named("max_deadline"))
    """Longer ones are cut to this."""
    max_body_mb: Mebibytes = Field(16, validation_alias=_named("max_body_mb"))
    """Largest body of a request, also after it is inflated."""
    max_upload_mb: Mebibytes = Field(4_096, validation_alias=_named("max_upload_mb"))
    """Largest upload of a model's files."""
    header_timeout: Milliseconds = Field(5_000, gt=0, validation_alias=_named("header_timeout"))
    """A connection that has not sent the head of a request by then is closed."""
    body_timeout: Milliseconds = Field(10_000, gt=0, validation_alias=_named("body_timeout"))
    """A body must have come by then; each megabyte of an upload has as long."""
    max_in_flight: Count = Field(1_024, validation_alias=_named("max_in_flight"))
    """Requests under way at once; further connections wait to be taken up."""
    max_sockets: Count = Field(1_000, validation_alias=_named("max_sockets"))
    """WebSockets open at once; who opens another is answered 429."""
    max_sockets_per_key: Count = Field(200, validation_alias=_named("max_sockets_per_key"))
    """WebSockets open at once of one key; without keys, of one address."""
    socket_idle: Milliseconds = Field(600_000, gt=0, validation_alias=_named("socket_idle"))
    """A WebSocket that says nothing for so long is closed; whoever only listens sends
    `{"type": "ping"}` now and then."""
    rate: Annotated[str, AfterValidator(_rate)] = Field("", validation_alias=_named("rate"))
    """How often a caller without a rate on its key may ask, such as `100/second`; without keys,
    each address. No limit when empty."""
    origins: Listed = Field((), validation_alias=_named("origins"))
    """Pages of other hosts that may call from a browser, as `https://shop.example`."""
    drain_pause: Milliseconds = Field(500, validation_alias=_named("drain_pause"))
    """After saying it is leaving, before it stops taking requests."""
    drain_grace: Milliseconds = Field(10_000, validation_alias=_named("drain_grace"))
    """For requests under way to finish."""
