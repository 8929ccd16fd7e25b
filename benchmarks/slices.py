"""One turn of a measurement: a short load on one server, from the generator's own process.

Servers take turns, so that whatever else the machine does meets all of them; medians over the
turns, and ratios inside one run, are what can be compared.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass

from server_process import Server

from inferflow.client.load import Call, Load, run_load

_CONNECTIONS = 16


@dataclass(frozen=True)
class Slice:
    calls_per_s: float
    cpu_us: float
    """The server's processor time per call."""
    p50_us: float
    p99_us: float
    failures: int


def load_slice(
    generator: Executor,
    server: Server,
    calls: tuple[Call, ...],
    seconds: float,
    *,
    concurrency: int = 16,
) -> Slice:
    load = Load(
        server.target,
        calls,
        seconds,
        concurrency=concurrency,
        connections=min(concurrency, _CONNECTIONS),
        warmup_s=0.0,
    )
    before = server.cpu_s()
    report = generator.submit(run_load, load).result()
    spent = server.cpu_s() - before
    for code, said in report.details.items():
        print(f"{report.failures[code]} calls to {server.target}: {code} {said}", flush=True)
    return Slice(
        report.per_second,
        spent / (report.answered + report.failed) * 1e6,
        report.latency_ms["p50"] * 1e3,
        report.latency_ms["p99"] * 1e3,
        report.failed,
    )


def middle(turns: Sequence[Slice]) -> Slice:
    """The median of each number; failures added up."""
    return Slice(
        calls_per_s=statistics.median(each.calls_per_s for each in turns),
        cpu_us=statistics.median(each.cpu_us for each in turns),
        p50_us=statistics.median(each.p50_us for each in turns),
        p99_us=statistics.median(each.p99_us for each in turns),
        failures=sum(each.failures for each in turns),
    )
