"""What does the engine add to the model?

R1 … R10000 embedded: whole requests through `Flow.answer`, beside `session.run` on the very
same tensors with one intra-op thread, alternating in one run so that both meet the same machine.
Only differences and ratios of one run mean anything; absolute times belong to the machine.

    python benchmarks/engine.py [--quick] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from bare import bare_session, tensor_for
from workload import load_data, request, write_project

import inferflow
from inferflow.engine.request import request_from

SIZES = {1: 2000, 10: 2000, 100: 1500, 500: 400, 1000: 200, 10_000: 30}
"""rows → requests measured"""
DISTINCT = 20
"""Different requests taken in turn, so that no cache line or branch is learned by heart."""


@dataclass(frozen=True)
class Result:
    store: str
    rows: int
    bare_p50_us: float
    flow_p50_us: float
    flow_p99_us: float

    @property
    def added_us(self) -> float:
        return self.flow_p50_us - self.bare_p50_us

    @property
    def rows_per_s(self) -> float:
        return self.rows / self.flow_p50_us * 1e6


def measure(store: str, rows: int, count: int, flow: inferflow.Flow, bare: Any) -> Result:
    rng = np.random.default_rng(rows)
    requests = [request_from(request(rows, rng)) for _ in range(DISTINCT)]
    tensors = [tensor_for(flow, each) for each in requests]
    for each in requests:
        flow.answer(each)
    own, model = np.empty(count), np.empty(count)
    for i in range(count):
        # Not the tensor of the request that follows: a model that has just seen it is quicker.
        other = tensors[(i + DISTINCT // 2) % DISTINCT]
        model[i] = _timed(lambda x=other: bare.run(None, {"input": x}))
        own[i] = _timed(lambda r=requests[i % DISTINCT]: flow.answer(r))
    return Result(
        store,
        rows,
        *(
            float(value)
            for value in (
                np.median(model) * 1e6,
                np.median(own) * 1e6,
                np.percentile(own, 99) * 1e6,
            )
        ),
    )


def _timed(call: Callable[[], object]) -> float:
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--quick", action="store_true", help="a tenth of the requests")
    arguments.add_argument("--json", type=Path, help="write the results to this file too")
    chosen = arguments.parse_args()
    results = []
    for store, cached in (("lmdb", False), ("memory", False), ("lmdb", True)):
        with tempfile.TemporaryDirectory() as scratch:
            folder = Path(scratch) / "project"
            write_project(folder, cached=cached)
            with inferflow.open(folder, settings={"feature_backend": store}) as flow:
                load_data(flow, np.random.default_rng(1))
                bare = bare_session(folder)
                name = f"{store} + warm cache" if cached else store
                for rows, requests in SIZES.items():
                    count = max(10, requests // 10) if chosen.quick else requests
                    results.append(measure(name, rows, count, flow, bare))
                    show(results[-1], header=rows == 1)
    if chosen.json:
        chosen.json.write_text(json.dumps([asdict(result) for result in results], indent=1))


def show(result: Result, *, header: bool) -> None:
    if header:
        print(f"\n{result.store}")
        print("  rows   bare p50    flow p50    flow p99      added   per row      rows/s")
    print(
        f"{result.rows:6d} {result.bare_p50_us:8.0f} µs {result.flow_p50_us:8.0f} µs "
        f"{result.flow_p99_us:8.0f} µs {result.added_us:+8.0f} µs "
        f"{result.added_us / result.rows:6.2f} µs {result.rows_per_s:11,.0f}"
    )


if __name__ == "__main__":
    main()
