"""What does logging every request cost?

R100 (100 targets, 42 logged columns) three ways: what a request itself spends on being logged;
what the log's own thread spends on it, per format and sink; and a real server with the log off and
on, in turns in one run: the rise of the median at half of the load it can take, the throughput at
full load, and processor time per request. Only numbers of one run compare.

    python benchmarks/inference_log.py [--quick] [--kafka HOST:PORT]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

import numpy as np
from server_process import Server, inferflow_serve, started
from workload import load_data, request, write_project

import inferflow
from inferflow.app.wiring import open_embedded
from inferflow.client.load import Call, Load, LoadReport, call_for, run_load
from inferflow.engine.observer import Observer
from inferflow.engine.request import request_from
from inferflow.engine.run import Run
from inferflow.inferlog.counting import LogCounts
from inferflow.inferlog.frames import Frames
from inferflow.inferlog.log import InferenceLog
from inferflow.inferlog.message import FORMATS, MessageWriter
from inferflow.inferlog.taken import PlanLog, Taken

ROWS = 100
DISTINCT = 20
MOST = 0.05
"""How much the median at half load may rise."""


class Runs(Observer):
    def __init__(self) -> None:
        self.runs: list[Run] = []

    def request_answered(self, run: Run) -> None:
        self.runs.append(run)


class Nowhere:
    def write(self, taken: Taken) -> None: ...

    def tick(self) -> None: ...

    def close(self, until: float) -> None: ...


def write_logged_project(folder: Path) -> None:
    write_project(folder, cached=True)
    path = folder / "configs" / "bench.json"
    config = json.loads(path.read_text())
    config["response_config"]["logging_perc"] = 100
    path.write_text(json.dumps(config))


def finished_runs(folder: Path) -> list[Run]:
    watching = Runs()
    embedded = open_embedded(folder, observer=watching)
    try:
        rng = np.random.default_rng(1)
        for _ in range(DISTINCT):
            embedded.book.get("bench").score_now(request_from(request(ROWS, rng)))
    finally:
        embedded.close()
    return watching.runs


def per_request_us(act: Callable[[Run], object], runs: list[Run], repeats: int) -> float:
    """Processor time of this thread per request: the median of several rounds."""
    rounds = []
    for _ in range(repeats):
        before = time.thread_time()
        for run in runs:
            act(run)
        rounds.append((time.thread_time() - before) / len(runs) * 1e6)
    return statistics.median(rounds)


def print_stages(runs: list[Run], repeats: int) -> None:
    plan_log = PlanLog(runs[0].plan)
    taken = {id(run): Taken(run, plan_log, time.time(), 0) for run in runs}
    log = InferenceLog(Nowhere(), LogCounts(), most=1_000_000, most_bytes=1 << 40)
    print("\nprocessor time per request, us")
    print(
        f"  on the request's own path   {per_request_us(log.request_answered, runs, repeats):8.1f}"
    )
    log.close()
    for format in FORMATS:
        writer = MessageWriter(plan_log, format)
        spent = per_request_us(lambda run, to=writer: to.write(taken[id(run)]), runs, repeats)
        size = len(writer.write(taken[id(runs[0])])[0].value)
        print(f"  a message, {format:<16} {spent:8.1f}   {size} bytes")
    frames, batch = Frames(plan_log), list(taken.values()) * 4
    spent = per_request_us(lambda _: frames.table(batch), runs[:1], repeats) / len(batch)
    print(f"  rows of a file, unwritten   {spent:8.1f}")


@dataclass
class Measured:
    full: list[float]
    half_p50_ms: list[float]
    half_p99_ms: list[float]
    cpu_us: list[float]


def measure_servers(
    folder: Path, calls: tuple[Call, ...], kafka: str, turns: int, seconds: float
) -> dict[str, Measured]:
    kinds = {"off": {"INFERFLOW_LOGS_SINK": "off"}, "files": {"INFERFLOW_LOGS_SINK": "files"}}
    if kafka:
        brokers = {"KafkaBootstrapServers": kafka, "KafkaLoggingTopic": "inferflow-bench"}
        kinds["kafka"] = {"INFERFLOW_LOGS_SINK": "kafka", **brokers}
    found = {kind: Measured([], [], [], []) for kind in kinds}
    with ExitStack() as held:
        servers = {
            kind: held.enter_context(started(inferflow_serve(folder), environment=environment))
            for kind, environment in kinds.items()
        }
        generator = held.enter_context(ProcessPoolExecutor(1, get_context("spawn")))

        def load(server: Server, rate: float | None = None) -> LoadReport:
            asked = Load(server.target, calls, seconds, rate=rate, warmup_s=0.0)
            return generator.submit(run_load, asked).result()

        half = 0.0
        for server in servers.values():
            half = half or load(server).per_second / 2
            load(server)
        for turn in range(turns):
            order = list(servers.items())
            for kind, server in order if turn % 2 else reversed(order):
                measured = found[kind]
                measured.full.append(load(server).per_second)
                before = server.cpu_s()
                report = load(server, half)
                measured.cpu_us.append((server.cpu_s() - before) / report.answered * 1e6)
                measured.half_p50_ms.append(report.latency_ms["p50"])
                measured.half_p99_ms.append(report.latency_ms["p99"])
    return found


def print_servers(found: dict[str, Measured]) -> None:
    print("\na server, one process")
    print("  log     full load  half load: p50 ms   p99 ms   processor us")
    for kind, each in found.items():
        print(
            f"  {kind:<6} {_middle(each.full):8.0f}/s {_middle(each.half_p50_ms):18.2f}"
            f" {_middle(each.half_p99_ms):8.2f} {_middle(each.cpu_us):14.0f}"
        )
    off = found["off"]
    for kind, each in found.items():
        if kind != "off":
            rise = _ratio(each.half_p50_ms, off.half_p50_ms) - 1
            cost = 1 - _ratio(each.full, off.full)
            verdict = "within" if rise < MOST else "above"
            told = f"p50 at half load {rise:+.1%} ({verdict} {MOST:.0%})"
            print(f"  {kind}: {told}, throughput {-cost:+.1%}")


def _middle(values: Iterable[float]) -> float:
    return statistics.median(values)


def _ratio(values: list[float], beside: list[float]) -> float:
    """The median of ratios within each turn: what moves slowly moves both."""
    return statistics.median(a / b for a, b in zip(values, beside, strict=True))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--kafka", default="", metavar="HOST:PORT")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder) / "project"
        write_logged_project(project)
        with inferflow.open(project) as flow:
            load_data(flow, np.random.default_rng(0))
        print_stages(finished_runs(project), 20 if chosen.quick else 100)
        rng = np.random.default_rng(2)
        asked = [request_from(request(ROWS, rng)) for _ in range(DISTINCT)]
        turns, seconds = (4, 1.0) if chosen.quick else (12, 3.0)
        calls = tuple(call_for(each) for each in asked)
        print_servers(measure_servers(project, calls, chosen.kafka, turns, seconds))


if __name__ == "__main__":
    main()
