"""What does batching bring, and what does it cost where it brings nothing?

Two workers, one that puts requests together and one that does not, in turns. A model worth
batching should gain; the demo ranker, whose runs are shorter than a call, should not lose.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from concurrent.futures import Executor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from infer_calls import Work, await_right_answer
from server_process import inferflow_worker, started
from slices import Slice, load_slice, middle

_MAX_ROWS = 256
CONCURRENCIES = (1, 8, 64)


@dataclass(frozen=True)
class Effect:
    model: str
    rows: int
    concurrency: int
    off: Slice
    on: Slice
    throughput: float
    """With batching as a multiple of without, the median over pairs of turns; so is the next."""
    cpu: float


def measure_batching(
    generator: Executor,
    models: Path,
    works: Sequence[Work],
    *,
    core: int | None,
    turns: int,
    seconds: float,
) -> list[Effect]:
    names = sorted({work.model for work in works})
    command = inferflow_worker(models, prefetch=names)
    with ExitStack() as running:
        off = running.enter_context(started(command, core=core))
        batching = {"INFERFLOW_WORKER_MAX_BATCH": str(_MAX_ROWS)}
        on = running.enter_context(started(command, environment=batching, core=core))
        for server in (off, on):
            for work in works:
                await_right_answer(server.target, work)
        effects = []
        for work in works:
            for concurrency in CONCURRENCIES:
                pairs = []
                for turn in range(-1, turns):  # the first one warms up
                    order = (off, on) if turn % 2 else (on, off)
                    took = {
                        server: load_slice(
                            generator, server, work.calls, seconds, concurrency=concurrency
                        )
                        for server in order
                    }
                    pairs.append((took[off], took[on]))
                effects.append(_effect(work, concurrency, pairs[1:]))
    return effects


def _effect(work: Work, concurrency: int, pairs: list[tuple[Slice, Slice]]) -> Effect:
    return Effect(
        work.model,
        work.rows,
        concurrency,
        middle([off for off, _ in pairs]),
        middle([on for _, on in pairs]),
        statistics.median(on.calls_per_s / off.calls_per_s for off, on in pairs),
        statistics.median(on.cpu_us / off.cpu_us for off, on in pairs),
    )


def show_batching(effects: Sequence[Effect]) -> None:
    print(f"\nbatching up to {_MAX_ROWS} rows, beside none")
    print("model         rows  at once   calls/s off      on     x    cpu/call off      on     x")
    for each in effects:
        failed = each.off.failures + each.on.failures
        print(
            f"{each.model:12s} {each.rows:5d} {each.concurrency:8d}"
            f" {each.off.calls_per_s:13,.0f} {each.on.calls_per_s:7,.0f} {each.throughput:4.2f}"
            f" {each.off.cpu_us:12.0f} µs {each.on.cpu_us:5.0f} {each.cpu:4.2f}"
            + (f"   {failed} failed" if failed else "")
        )
