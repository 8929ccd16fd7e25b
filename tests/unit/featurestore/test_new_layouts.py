"""A layout that another process introduced is asked for beside the event loop, not on it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence

import pytest

from inferflow.dtypes import FP32
from inferflow.engine.deadline import Deadline
from inferflow.errors import DeadlinePassed
from inferflow.featurestore import FeatureStore, MemoryBackend, parse_schema
from inferflow.plan.query import FeatureRead, GroupRead, RunRead

READ = FeatureRead("item", ("id",), (GroupRead("g", (RunRead(FP32, ("a",), (1,)),)),))


class FarBackend(MemoryBackend):
    """In this process, but asked as if it were in another."""

    def __init__(self) -> None:
        super().__init__()
        self.asked_by: list[threading.Thread] = []
        self.hangs: threading.Event | None = None

    async def fetch_many(self, keys: Sequence[bytes], *, deadline: Deadline) -> list[bytes | None]:
        del deadline
        return super().get_many(keys)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self.asked_by.append(threading.current_thread())
        if self.hangs is not None:
            self.hangs.wait(30)
        return super().get_many(keys)


def store(backend: FarBackend, **features: str) -> FeatureStore:
    group = {"features": features}
    schema = {"entities": {"item": {"keys": ["id"], "groups": {"g": group}}}}
    return FeatureStore(parse_schema(schema), backend)


@pytest.fixture
def backend() -> FarBackend:
    return FarBackend()


def test_it_is_learnt_by_a_thread_and_only_once(backend: FarBackend) -> None:
    read = store(backend, a="FP32").prepare(READ)
    store(backend, a="FP32", b="FP32").put("item", "g", [{"id": 1, "a": 2.5, "b": 1}])
    backend.asked_by.clear()

    async def fetched() -> list[float]:
        found = await read.fetch((["1"],), deadline=Deadline(None))
        values: list[float] = found.groups[0].runs[0].ravel().tolist()
        return values

    for _ in range(2):
        assert asyncio.run(fetched()) == [2.5]
    assert len(backend.asked_by) == 1
    assert threading.main_thread() not in backend.asked_by


def test_a_store_that_hangs_meanwhile_costs_no_more_than_the_deadline(backend: FarBackend) -> None:
    read = store(backend, a="FP32").prepare(READ)
    store(backend, a="FP32", b="FP32").put("item", "g", [{"id": 1, "a": 2.5, "b": 1}])

    async def late() -> None:
        backend.hangs = threading.Event()
        try:
            with pytest.raises(DeadlinePassed):
                await read.fetch((["1"],), deadline=Deadline(20))
        finally:
            backend.hangs.set()

    asyncio.run(late())
