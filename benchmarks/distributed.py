"""What does it cost to have features, the model or expressions in other processes?

R100 (100 targets, 40 features over three reads, trees, one expression; nothing cached) five ways on
one host: all in one process; the features, the model or the expression each in a service of its
own; and all three. First what every step takes and how much of that is spent waiting for the
service, from the engine's own records. Then real servers in turns, with one call at a time: time
per request, and processor time of the server and of the services. Each way's scores are compared
with those of one process before anything counts, to the last bit. Only numbers of one run compare.

    python benchmarks/distributed.py [--quick]
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from server_process import Server, inferflow_serve, inferflow_service, started
from workload import load_data, request, write_project

import inferflow
from inferflow.app.wiring import open_embedded
from inferflow.client.load import Call, Load, call_for, run_load
from inferflow.engine.observer import Observer
from inferflow.engine.request import ScoreRequest, request_from
from inferflow.engine.run import Run

ROWS = 100
DISTINCT = 50
SERVICES = {"features": "feature-store", "model": "worker", "compute": "numerix"}
"""What may be elsewhere, and the role that serves it."""
WAYS: dict[str, tuple[str, ...]] = {
    "embedded": (),
    "remote features": ("features",),
    "remote model": ("model",),
    "remote compute": ("compute",),
    "all remote": ("features", "model", "compute"),
}


@dataclass(frozen=True)
class Bench:
    """A project, its services, and what they are asked."""

    project: Path
    services: Mapping[str, Server]
    asked: tuple[ScoreRequest, ...]

    def settings(self, way: str) -> dict[str, Any]:
        where = {part: self.services[part].target for part in WAYS[way]}
        return {
            **({"onfs": {"host": where["features"]}} if "features" in where else {}),
            **({"endpoints": {"local": where["model"]}} if "model" in where else {}),
            **({"numerix": {"host": where["compute"]}} if "compute" in where else {}),
        }

    def environment(self, way: str) -> dict[str, str]:
        names = {
            "features": ("externalServiceOnFs_host", "{}"),
            "model": ("INFERFLOW_ENDPOINTS", "local={}"),
            "compute": ("numerixClientV1_host", "{}"),
        }
        return {
            names[part][0]: names[part][1].format(self.services[part].target) for part in WAYS[way]
        }


@contextmanager
def prepared() -> Iterator[Bench]:
    with tempfile.TemporaryDirectory() as folder, ExitStack() as held:
        project = Path(folder) / "project"
        write_project(project, cached=False)
        with inferflow.open(project) as flow:
            load_data(flow, np.random.default_rng(0))
        services = {
            part: held.enter_context(started(inferflow_service(role, project)))
            for part, role in SERVICES.items()
        }
        rng = np.random.default_rng(2)
        asked = tuple(request_from(request(ROWS, rng)) for _ in range(DISTINCT))
        yield Bench(project, services, asked)


# --- where the time goes --------------------------------------------------------------------


class Steps(Observer):
    """How long steps took, and how much of it was waiting for their service."""

    def __init__(self) -> None:
        self.whole_us: dict[str, list[float]] = {}
        self.calls_us: dict[str, list[float]] = {}

    def request_answered(self, run: Run) -> None:
        for record in run.records or ():
            self.whole_us.setdefault(record.name, []).append(record.duration_us)
            self.calls_us.setdefault(record.name, []).append(record.calls_us)

    def clear(self) -> None:
        self.whole_us.clear()
        self.calls_us.clear()


def steps_of(bench: Bench, way: str, rounds: int) -> tuple[Steps, list[Any]]:
    """Steps of some requests one after another, in this process; and the scores."""
    steps = Steps()
    opened = open_embedded(bench.project, bench.settings(way), observer=steps)
    scorer = opened.book.get("bench")

    async def ask_all() -> list[Any]:
        found = [await scorer.score(each) for each in bench.asked]
        steps.clear()  # the first time everything is opened
        for _ in range(rounds):
            for each in bench.asked:
                await scorer.score(each)
        return found

    try:
        found = asyncio.run(ask_all())
    finally:
        opened.close()
    return steps, [scores.targets["blend:final_score"].tobytes() for scores in found]


def print_steps(bench: Bench, rounds: int) -> None:
    measured = {way: steps_of(bench, way, rounds) for way in WAYS}
    expected = measured["embedded"][1]
    for way, (_, scores) in measured.items():
        assert scores == expected, f"{way}: other scores than in one process"
    print("\nmedian time of each step, us (of which in its call)")
    print(f"  {'step':<18}" + "".join(f"{way:>18}" for way in WAYS))
    for name in measured["embedded"][0].whole_us:
        cells = [
            f"{_middle(steps.whole_us[name]):8.0f} ({_middle(steps.calls_us[name]):6.0f})"
            for steps, _ in measured.values()
        ]
        print(f"  {name:<18}" + "".join(f"{cell:>18}" for cell in cells))


# --- servers --------------------------------------------------------------------------------


@dataclass
class Measured:
    p50_ms: list[float] = field(default_factory=list)
    p99_ms: list[float] = field(default_factory=list)
    own_us: list[float] = field(default_factory=list)
    services_us: list[float] = field(default_factory=list)


def measure_servers(bench: Bench, turns: int, seconds: float) -> dict[str, Measured]:
    calls: tuple[Call, ...] = tuple(call_for(each) for each in bench.asked)
    found = {way: Measured() for way in WAYS}
    with ExitStack() as held:
        servers = {
            way: held.enter_context(
                started(inferflow_serve(bench.project), environment=bench.environment(way))
            )
            for way in WAYS
        }
        generator = held.enter_context(ProcessPoolExecutor(1, get_context("spawn")))
        for turn in range(turns + 1):
            order = list(servers.items())
            for way, server in order if turn % 2 else reversed(order):
                asked = Load(
                    server.target, calls, seconds, concurrency=1, connections=1, warmup_s=0.0
                )
                before = server.cpu_s(), _cpu_s(bench.services.values())
                report = generator.submit(run_load, asked).result()
                after = server.cpu_s(), _cpu_s(bench.services.values())
                assert not report.failures, report.failures
                if turn:  # the first one warms up
                    _add(found[way], report, before, after)
    return found


def _add(
    measured: Measured, report: Any, before: tuple[float, float], after: tuple[float, float]
) -> None:
    measured.p50_ms.append(report.latency_ms["p50"])
    measured.p99_ms.append(report.latency_ms["p99"])
    own, services = (
        (end - start) / report.answered * 1e6 for start, end in zip(before, after, strict=True)
    )
    measured.own_us.append(own)
    measured.services_us.append(services)


def _cpu_s(services: Iterable[Server]) -> float:
    return sum(service.cpu_s() for service in services)


def print_servers(found: dict[str, Measured]) -> None:
    print("\na server, one call at a time (medians of turns)")
    print(
        "  way                p50 ms   p99 ms   processor us: server   services   beside embedded"
    )
    base = found["embedded"]
    for way, each in found.items():
        print(
            f"  {way:<18} {_middle(each.p50_ms):6.2f} {_middle(each.p99_ms):8.2f}"
            f" {_middle(each.own_us):22.0f} {_middle(each.services_us):10.0f}"
            f" {_ratio(each.p50_ms, base.p50_ms):14.2f} x p50"
        )


def _middle(values: Iterable[float]) -> float:
    return statistics.median(values)


def _ratio(values: list[float], beside: list[float]) -> float:
    """The median of ratios within each turn: what moves slowly moves both."""
    return statistics.median(a / b for a, b in zip(values, beside, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    chosen = parser.parse_args()
    with prepared() as bench:
        print_steps(bench, 2 if chosen.quick else 10)
        turns, seconds = (4, 0.5) if chosen.quick else (14, 1.5)
        print_servers(measure_servers(bench, turns, seconds))


if __name__ == "__main__":
    main()
