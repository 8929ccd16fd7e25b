"""Rows written through a feature service are as if they had been written into its store, and only
those are sent that are not there yet."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inferflow.api.features.service import SERVICES, FeatureService
from inferflow.client.features.reader import FeatureLine, FeatureOptions, caller_headers
from inferflow.client.features.writer import FeatureWriter
from inferflow.client.oip.line import LineOptions
from inferflow.dtypes import DTYPES
from inferflow.errors import StoreFailed, StoreUnreachable
from inferflow.featurestore import FeatureStore, MemoryBackend
from inferflow.featurestore.batch import Batch, RawColumn, batch_of_rows, batch_of_table
from inferflow.featurestore.schema import FeatureSchema, parse_schema
from inferflow.rpc.admission import Admission
from inferflow.rpc.server import start_server

DIM = 3
NAMES = [dtype.name for dtype in DTYPES.values()]
SCHEMA = parse_schema(
    {
        "entities": {
            "thing": {
                "keys": ["kind", "id"],
                "groups": {
                    "all": {
                        "features": {
                            name: {"dtype": name, **({"dim": DIM} if dtype.is_vector else {})}
                            for name, dtype in zip(NAMES, DTYPES.values(), strict=True)
                        }
                    },
                    "few": {"dtype": "FP32", "features": {"x": {"default": 1.5}, "y": {}}},
                },
            }
        }
    }
)
THING = SCHEMA.entity("thing")


def new_store(schema: FeatureSchema = SCHEMA) -> FeatureStore:
    return FeatureStore(schema, MemoryBackend(), now=lambda: 1_000.0)


def writing(
    store: FeatureStore,
    use: Callable[[FeatureWriter], Awaitable[Any]],
    schema: FeatureSchema = SCHEMA,
) -> Any:
    """What `use` gives, with a service over the store for the time it takes."""

    async def run() -> Any:
        service = FeatureService(lambda: store, admission=Admission(10), now=lambda: 1_000.0)
        server = await start_server(service.handlers(), services=SERVICES)
        headers = caller_headers("tests", "")
        options = FeatureOptions(LineOptions(headers=headers))
        line = FeatureLine(f"127.0.0.1:{server.port}", options)
        writer = FeatureWriter(line, schema)
        try:
            return await use(writer)
        finally:
            writer.close()
            line.close()
            await server.stop()

    return asyncio.run(run())


async def put(writer: FeatureWriter, batch: Batch) -> list[int]:
    """Rows that were sent."""
    changed = await writer.changed("thing", batch)
    await writer.write("thing", batch, changed)
    return list(changed.tolist())


def rows(store: FeatureStore, batch: Batch) -> list[Any]:
    keys = zip(*batch.keys, strict=True)
    return [
        [(each.feature, repr(each.value), each.state) for each in store.get("thing", list(key))]
        for key in keys
    ]


def test_every_type_arrives_as_if_written_directly_and_is_not_sent_twice() -> None:
    numbers = np.arange(4)
    table = {"kind": RawColumn(["a"] * 4), "id": RawColumn(list(map(str, numbers)))}
    for name, dtype in zip(NAMES, DTYPES.values(), strict=True):
        one = numbers % 2 == 1 if dtype.element.is_bool else numbers
        values: Any = [f"t{each}" for each in one] if dtype.element.is_text else one
        if dtype.is_vector:
            values = [[each] * DIM for each in values]
        table[name] = RawColumn(values if isinstance(values, list) else values.tolist())
    batch = batch_of_table(THING, "all", table, source="table")
    far, near = new_store(), new_store()
    near.write("thing", batch)

    async def twice(writer: FeatureWriter) -> tuple[list[int], list[int]]:
        return await put(writer, batch), await put(writer, batch)

    assert writing(far, twice) == ([0, 1, 2, 3], [])
    assert rows(far, batch) == rows(near, batch)


CELLS = st.one_of(st.none(), st.floats(width=32))
TABLES = st.lists(st.tuples(st.sampled_from("abc"), CELLS, CELLS), min_size=1, max_size=8)


@settings(max_examples=15)
@given(before=TABLES, after=TABLES)
def test_what_is_sent_is_what_differs_and_empty_cells_say_nothing(
    before: list[tuple[str, float | None, float | None]],
    after: list[tuple[str, float | None, float | None]],
) -> None:
    def batch(table: list[tuple[str, float | None, float | None]]) -> Batch:
        written = [{"kind": "k", "id": key, "x": x, "y": y} for key, x, y in table]
        return batch_of_rows(THING, "few", written, source="rows")

    store, slow = new_store(), new_store()
    store.write("thing", batch(before))
    slow.write("thing", batch(before))
    last = {key: (x, y) for key, x, y in after}
    for key, (x, y) in last.items():
        spoken = {name: value for name, value in (("x", x), ("y", y)) if value is not None}
        if spoken:
            slow.put("thing", "few", [{"kind": "k", "id": key, **spoken}])

    async def twice(writer: FeatureWriter) -> list[int]:
        await put(writer, batch(after))
        return await put(writer, batch(after))

    assert writing(store, twice) == []
    assert rows(store, batch(after)) == rows(slow, batch(after))


OTHERS = {"other": {"features": {"z": {"dtype": "FP32"}}}}


def test_a_service_that_knows_no_such_feature_refuses_and_names_the_rows() -> None:
    small = parse_schema({"entities": {"thing": {"keys": ["kind", "id"], "groups": OTHERS}}})
    batch = batch_of_rows(THING, "few", [{"kind": "k", "id": "1", "x": 2.0}], source="rows")

    async def write(writer: FeatureWriter) -> None:
        await writer.write("thing", batch, np.array([0]))

    with pytest.raises(StoreFailed, match=r"rows 1 to 1: .*few"):
        writing(new_store(small), write)


def test_a_service_that_is_away_is_told_apart_from_one_that_refuses() -> None:
    batch = batch_of_rows(THING, "few", [{"kind": "k", "id": "1", "x": 2.0}], source="rows")

    async def run() -> None:
        line = FeatureLine("127.0.0.1:1", FeatureOptions())
        await FeatureWriter(line, SCHEMA).changed("thing", batch)

    with pytest.raises(StoreUnreachable):
        asyncio.run(run())
