"""Tracing of one process, as its settings say: nothing at all unless they name a collector.

While it is open, servers of this process trace their calls (`inferflow.tracing`), and what is kept
goes to the collector (`tracing_otlp`). OpenTelemetry is imported only then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from inferflow.telemetry.tracing_steps import StepSpans
from inferflow.tracing import Sampling, Tracer, use_tracer


@dataclass(frozen=True, slots=True)
class TracingOptions:
    endpoint: str = ""
    """The collector's URL, over HTTP with its path; nothing is traced when empty."""
    over_http: bool = False
    """Instead of gRPC."""
    sampling: Sampling = field(default_factory=Sampling)
    service: str = ""
    default_service: str = "inferflow"
    """When neither `service` nor OpenTelemetry's variables name the service."""
    env: str = ""


class Tracing:
    """Tracing as it was set up, or the lack of it. Close it at the end."""

    def __init__(self, *ends: Callable[[], None]) -> None:
        self._ends = ends
        self.observers = [StepSpans()] if ends else []
        """Who makes spans of steps; to be told what the engine does."""

    def close(self) -> None:
        """Stop tracing, and send what is left."""
        ends, self._ends = self._ends, ()
        for end in ends:
            end()


def open_tracing(options: TracingOptions) -> Tracing:
    """Trace from now on. Raises MissingExtra when the settings ask for it and it is not
    installed."""
    if not options.endpoint:
        return Tracing()
    from inferflow.telemetry.tracing_otlp import Otlp

    otlp = Otlp(
        options.endpoint,
        service=options.service,
        default_service=options.default_service,
        env=options.env,
        over_http=options.over_http,
    )
    stop = use_tracer(Tracer(otlp.send, options.sampling))
    return Tracing(stop, otlp.close)
