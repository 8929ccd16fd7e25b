"""What does a served request cost beside the model and a call that does nothing?

R1 … R500 through a real server process, with the load generator in another one. Processor time
per request is the server's own, read from the operating system; beside it stand the bare model on
the same tensors and a no-op call with answers of the same size, in turns in one run. What is
above both is what the platform adds. Only numbers of one run compare.

    python benchmarks/serving.py [--quick] [--processes N …] [--json FILE]
    python benchmarks/serving.py --reloads 200
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
from bare import bare_session, tensor_for
from noop import method as noop_method
from reloads import reload_under_load
from server_process import inferflow_serve, no_op, started
from slices import Slice, load_slice, middle
from workload import load_data, request, write_project

import inferflow
from inferflow.api.predict import POINT_WISE
from inferflow.client.load import Call, call_for
from inferflow.engine.request import request_from

SIZES = (1, 10, 100, 500)
DISTINCT = 20
"""Different requests taken in turn."""


@dataclass(frozen=True)
class Workload:
    """The requests of one size, in every form a measurement needs."""

    rows: int
    calls: tuple[Call, ...]
    answer_bytes: int
    tensors: list[object]

    @property
    def no_ops(self) -> tuple[Call, ...]:
        """The same bytes, sent where nothing is done with them."""
        path = noop_method(self.answer_bytes)
        return tuple(replace(call, method=path) for call in self.calls)


@dataclass(frozen=True)
class Result:
    store: str
    processes: int
    rows: int
    calls_per_s: float
    p50_us: float
    p99_us: float
    cpu_us: float
    """Server processor time per request; so are the next two."""
    noop_us: float
    model_us: float
    failures: int

    @property
    def added_us(self) -> float:
        return self.cpu_us - self.noop_us - self.model_us


def workload(flow: inferflow.Flow, rows: int) -> Workload:
    rng = np.random.default_rng(rows)
    requests = [request_from(request(rows, rng)) for _ in range(DISTINCT)]
    return Workload(
        rows,
        tuple(call_for(each) for each in requests),
        len(POINT_WISE.answer(flow.answer(requests[0]))),
        [tensor_for(flow, each) for each in requests],
    )


def bare_cpu_us(session: Any, work: Workload, runs: int = 200) -> float:
    before = time.thread_time()
    for number in range(runs):
        session.run(None, {"input": work.tensors[number % DISTINCT]})
    return (time.thread_time() - before) / runs * 1e6


def measure(
    name: str, project: Path, works: list[Workload], *, processes: int, turns: int, seconds: float
) -> list[Result]:
    served: dict[int, list[Slice]] = {work.rows: [] for work in works}
    idle: dict[int, list[Slice]] = {work.rows: [] for work in works}
    bare: dict[int, list[float]] = {work.rows: [] for work in works}
    session = bare_session(project)
    options = ["--processes", str(processes)] if processes > 1 else []
    sizes = [work.answer_bytes for work in works]
    with (
        started(inferflow_serve(project, *options)) as server,
        started(no_op(sizes)) as noop,
        ProcessPoolExecutor(1, get_context("spawn")) as generator,
    ):
        for work in works:  # caches fill, code is met for the first time
            load_slice(generator, server, work.calls, seconds)
        for _ in range(turns):
            for work in works:
                served[work.rows].append(load_slice(generator, server, work.calls, seconds))
                idle[work.rows].append(load_slice(generator, noop, work.no_ops, seconds / 2))
                bare[work.rows].append(bare_cpu_us(session, work))
    return [_result(name, processes, rows, served[rows], idle[rows], bare[rows]) for rows in served]


def _result(
    name: str,
    processes: int,
    rows: int,
    served: list[Slice],
    idle: list[Slice],
    bare: list[float],
) -> Result:
    turns = middle(served)
    return Result(
        name,
        processes,
        rows,
        calls_per_s=turns.calls_per_s,
        p50_us=turns.p50_us,
        p99_us=turns.p99_us,
        cpu_us=turns.cpu_us,
        noop_us=middle(idle).cpu_us,
        model_us=statistics.median(bare),
        failures=turns.failures,
    )


def show(results: list[Result]) -> None:
    first = results[0]
    shape = "one process" if first.processes == 1 else f"{first.processes} processes"
    print(f"\n{first.store}, {shape}")
    print("  rows    calls/s       p50       p99   cpu/call      no-op      model      above both")
    for each in results:
        print(
            f"{each.rows:6d} {each.calls_per_s:10,.0f} {each.p50_us:6.0f} µs {each.p99_us:6.0f} µs"
            f" {each.cpu_us:7.0f} µs {each.noop_us:7.0f} µs {each.model_us:7.0f} µs"
            f" {each.added_us:+12.0f} µs" + (f"   {each.failures} failed" * bool(each.failures))
        )


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--quick", action="store_true", help="fewer and shorter turns")
    arguments.add_argument("--processes", type=int, nargs="+", default=[1], metavar="N")
    arguments.add_argument("--rows", type=int, nargs="+", default=list(SIZES), metavar="R")
    arguments.add_argument("--reloads", type=int, default=0, metavar="N", help="reload under load")
    arguments.add_argument("--json", type=Path, help="write the results to this file too")
    chosen = arguments.parse_args()
    turns, seconds = (2, 0.7) if chosen.quick else (5, 2.0)
    results: list[Result] = []
    for cached in (False, True):
        with tempfile.TemporaryDirectory() as scratch:
            project = Path(scratch) / "project"
            write_project(project, cached=cached)
            with inferflow.open(project) as flow:
                load_data(flow, np.random.default_rng(1))
                works = [workload(flow, rows) for rows in chosen.rows]
            if chosen.reloads:
                reload_under_load(project, chosen.reloads)
                return
            for processes in chosen.processes:
                name = "lmdb + warm cache" if cached else "lmdb"
                results += measure(
                    name, project, works, processes=processes, turns=turns, seconds=seconds
                )
                show(results[-len(works) :])
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(result) for result in results], indent=1))


if __name__ == "__main__":
    main()
