"""Configs that change under load: does every answer come from exactly one version of them?

Each version blends its scores differently, so an answer tells by its bytes which config made
it. The same answers are computed in this process from each version alone, and every answer of
the server must be the one that belongs to the version its header names.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import grpc
import numpy as np
from server_process import inferflow_serve, started
from workload import request

import inferflow
from inferflow.api.predict import POINT_WISE
from inferflow.client.load import Call, Load, call_for
from inferflow.client.load.generator import Generator
from inferflow.client.load.tally import Failure, Tally, merged
from inferflow.engine.request import ScoreRequest, request_from
from inferflow.rpc.channel import open_channel
from inferflow.rpc.headers import CONFIG_VERSION
from inferflow.rpc.options import ChannelOptions

VERSIONS = 8
ROWS = 10
_PATIENCE_S = 30.0

Expected = dict[tuple[bytes, str], str]
"""(request, config version) → digest of its answer."""
Seen = Counter[tuple[bytes, str, str]]
"""(request, config version, digest of the answer) → how often."""


@dataclass(frozen=True)
class Version:
    text: str
    """The config as it is written."""
    digest: str


def reload_under_load(project: Path, reloads: int) -> None:
    """Prints what came of it; ends the process with a failure when an answer was wrong."""
    rng = np.random.default_rng(ROWS)
    requests = [request_from(request(ROWS, rng)) for _ in range(5)]
    versions, expected = _versions(project, requests)
    calls = tuple(call_for(each) for each in requests)
    with (
        started(inferflow_serve(project)) as server,
        ProcessPoolExecutor(1, get_context("spawn")) as generator,
    ):
        load = Load(server.target, calls, 1.0, warmup_s=0.0)
        watched: list[tuple[Tally, Seen]] = []
        has_ended = threading.Event()

        def press() -> None:
            while not has_ended.is_set():
                watched.append(generator.submit(watched_load, load).result())

        pressing = threading.Thread(target=press)
        pressing.start()
        try:
            took = _reload(project, versions, reloads, server.target, calls[0].body)
        finally:
            has_ended.set()
            pressing.join()
    seen = sum((each for _, each in watched), Seen())
    _judge(merged(tally for tally, _ in watched), seen, expected, took)


def watched_load(load: Load) -> tuple[Tally, Seen]:
    """Send it, and keep what was answered by which version."""
    seen = Seen()

    async def send() -> Tally:
        options = ChannelOptions(attempts=1, own_connection=True)
        channels = [open_channel(load.target, options) for _ in range(load.connections)]
        ready: list[Any] = [channel.unary_unary(POINT_WISE.path) for channel in channels]

        async def ask(connection: int, call: Call) -> Failure | None:
            try:
                under_way = ready[connection](call.body, timeout=load.deadline_s)
                answer = await under_way
            except grpc.aio.AioRpcError as refused:
                return Failure(refused.code().name, refused.details() or "")
            beside = dict(await under_way.trailing_metadata())
            seen[call.body, beside.get(CONFIG_VERSION, ""), digest(answer)] += 1
            return None

        try:
            return await Generator(load, ask).run(asyncio.Event())
        finally:
            await asyncio.gather(*(channel.close() for channel in channels))

    return asyncio.run(send()), seen


def digest(answer: bytes) -> str:
    return hashlib.blake2b(answer, digest_size=16).hexdigest()


def _versions(project: Path, requests: list[ScoreRequest]) -> tuple[list[Version], Expected]:
    file = project / "configs" / "bench.json"
    config = json.loads(file.read_text())
    blends = {f"blend_{n}": f"{1 - n / 10} * score + {n / 10} * p0" for n in range(VERSIONS)}
    (project / "expressions.yaml").write_text(json.dumps(blends))
    versions: list[Version] = []
    expected: Expected = {}
    for name in blends:
        config["component_config"]["numerix_component_config"]["blend"]["compute_id"] = name
        file.write_text(json.dumps(config))
        with inferflow.open(project) as flow:
            answers = [flow.answer(each) for each in requests]
        versions.append(Version(file.read_text(), answers[0].config_version))
        for each, scores in zip(requests, answers, strict=True):
            sent = call_for(each).body
            expected[sent, scores.config_version] = digest(POINT_WISE.answer(scores))
    return versions, expected


def _reload(
    project: Path, versions: list[Version], count: int, target: str, body: bytes
) -> list[float]:
    """Write one version after the other, each when the one before is live. Seconds they took."""
    took: list[float] = []
    with grpc.insecure_channel(target) as channel:
        call: Any = channel.unary_unary(POINT_WISE.path)
        for number in range(count):
            version = versions[number % len(versions)]
            began = time.perf_counter()
            fresh = project / "bench.json.fresh"
            fresh.write_text(version.text)
            fresh.rename(project / "configs" / "bench.json")
            while (
                dict(call.with_call(body)[1].trailing_metadata())[CONFIG_VERSION] != version.digest
            ):
                if time.perf_counter() - began > _PATIENCE_S:
                    raise SystemExit(f"reload {number} is not live after {_PATIENCE_S:.0f} s")
                time.sleep(0.005)
            took.append(time.perf_counter() - began)
    return took


def _judge(tally: Tally, seen: Seen, expected: Expected, took: list[float]) -> None:
    strange = sum(
        count
        for (sent, version, answer), count in seen.items()
        if expected.get((sent, version)) != answer
    )
    print(
        f"{len(took)} reloads, {np.median(took) * 1e3:.0f} ms each until live,"
        f" {len(tally.latencies_s):,} calls answered, {tally.failed} failed,"
        f" {strange} not by the version they name,"
        f" {len({version for _, version, _ in seen})} versions met"
    )
    if tally.failed or strange:
        raise SystemExit(f"failed: {dict(tally.failures)}; answers of no version: {strange}")
