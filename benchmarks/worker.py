"""How fast is one worker, beside the bare model and beside other Python servers?

The demo's click model over the Open Inference Protocol, raw tensors, each server one process with
one thread per run, on one core where that can be said. Servers take turns inside one run, with
one load generator on another core; only numbers of one run compare. Then the worker with batching
beside itself without.

    python benchmarks/worker.py [--quick] [--only servers|batching] [--json FILE]

Needs a package index the first time: the other servers are installed in environments of their
own.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import tempfile
import time
from collections.abc import Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from batching import measure_batching, show_batching
from dense import NAME as DENSE
from dense import write_dense_model
from infer_calls import Work, await_right_answer, work_for
from rivals import RIVALS, rival_started
from server_process import Server, inferflow_worker, started, stay_on, two_cores
from slices import Slice, load_slice, middle

import inferflow.demo

RANKER = "click_model"
SIZES = (1, 32, 100)
CONCURRENCIES = (1, 8, 64)


@dataclass(frozen=True)
class Result:
    server: str
    rows: int
    concurrency: int
    calls_per_s: float
    p50_us: float
    p99_us: float
    cpu_us: float
    """The server's processor time per call."""
    failures: int


def bare_slice(work: Work, seconds: float) -> Slice:
    """The model alone, one run after another."""
    run, feeds = work.session.run, work.feeds
    took: list[float] = []
    began, spent = time.perf_counter(), time.thread_time()
    while time.perf_counter() - began < seconds:
        before = time.perf_counter()
        run(None, feeds[len(took) % len(feeds)])
        took.append(time.perf_counter() - before)
    whole, spent = time.perf_counter() - began, time.thread_time() - spent
    shares = statistics.quantiles(took, n=100)
    count = len(took)
    return Slice(count / whole, spent / count * 1e6, shares[49] * 1e6, shares[98] * 1e6, 0)


def measure_servers(
    generator: Executor,
    models: Path,
    works: Sequence[Work],
    *,
    core: int | None,
    turns: int,
    seconds: float,
) -> list[Result]:
    with ExitStack() as running:
        servers: dict[str, Server] = {
            "Inferflow": running.enter_context(
                started(inferflow_worker(models, prefetch=[RANKER]), core=core)
            )
        }
        path = models / RANKER / "1" / "model.onnx"
        for rival in RIVALS:
            servers[rival.name] = running.enter_context(
                rival_started(rival, RANKER, path, core=core)
            )
        for server in servers.values():
            await_right_answer(server.target, works[0])
        results = []
        for work in works:
            floor = middle([bare_slice(work, seconds / 2) for _ in range(turns)])
            results.append(_result("bare model", work, 1, floor))
            for concurrency in CONCURRENCIES:
                results += _point(generator, servers, work, concurrency, turns, seconds)
    return results


def _point(
    generator: Executor,
    servers: dict[str, Server],
    work: Work,
    concurrency: int,
    turns: int,
    seconds: float,
) -> list[Result]:
    taken: dict[str, list[Slice]] = {name: [] for name in servers}
    for turn in range(-1, turns):  # the first one warms up
        for name, server in _rotated(list(servers.items()), turn):
            slice_ = load_slice(generator, server, work.calls, seconds, concurrency=concurrency)
            taken[name].append(slice_)
    return [_result(name, work, concurrency, middle(taken[name][1:])) for name in servers]


def _rotated(names: list[Any], by: int) -> list[Any]:
    """Nobody always goes first, or always after the same other."""
    by %= len(names)
    return names[by:] + names[:by]


def _result(name: str, work: Work, concurrency: int, turns: Slice) -> Result:
    return Result(name, work.rows, concurrency, **asdict(turns))


def show(results: Sequence[Result]) -> None:
    print("\nserver      rows  at once    calls/s        p50        p99   cpu/call")
    for each in results:
        print(
            f"{each.server:10s} {each.rows:5d} {each.concurrency:8d} {each.calls_per_s:10,.0f}"
            f" {each.p50_us:7,.0f} µs {each.p99_us:7,.0f} µs {each.cpu_us:7,.0f} µs"
            + (f"   {each.failures} failed" if each.failures else "")
        )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--quick", action="store_true", help="fewer and shorter turns")
    arguments.add_argument("--only", choices=("servers", "batching"))
    arguments.add_argument("--json", type=Path, help="write the results to this file too")
    chosen = arguments.parse_args()
    core, generator_core = two_cores()
    turns, seconds = (4, 0.5) if chosen.quick else (14, 0.5)
    pace: dict[str, Any] = {"core": core, "turns": turns, "seconds": seconds}
    found: dict[str, Any] = {}
    with (
        tempfile.TemporaryDirectory() as scratch,
        ProcessPoolExecutor(1, get_context("spawn"), stay_on, (generator_core,)) as generator,
    ):
        models = Path(scratch) / "models"
        demo = Path(inferflow.demo.__file__).parent / "project" / "models"
        shutil.copytree(demo / RANKER, models / RANKER)
        write_dense_model(models)
        rankers = [work_for(models, RANKER, rows) for rows in SIZES]
        if chosen.only != "batching":
            results = measure_servers(generator, models, rankers, **pace)
            show(results)
            found["servers"] = [asdict(each) for each in results]
        if chosen.only != "servers":
            effects = measure_batching(
                generator, models, [work_for(models, DENSE, 1), *rankers], **pace
            )
            show_batching(effects)
            found["batching"] = [asdict(each) for each in effects]
    if chosen.json:
        chosen.json.write_text(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
