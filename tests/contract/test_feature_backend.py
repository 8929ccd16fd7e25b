"""What every feature backend promises, and the store on top of each of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

import numpy as np
import pytest

from inferflow.dtypes import FP32, INT32, STRING
from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import FeatureRows, ReadState
from inferflow.errors import DeadlinePassed, InvalidInput, NotFound, RowRejected
from inferflow.featurestore import Backend, FeatureStore, import_table, parse_schema
from inferflow.featurestore.reading import RemoteRead, StoreRead
from inferflow.plan.query import FeatureRead, GroupRead, RunRead

SHOP = {
    "entities": {
        "product": {
            "keys": ["product_id"],
            "groups": {
                "attributes": {
                    "dtype": "FP32",
                    "ttl": "10s",
                    "features": {
                        "price": {"default": -1.0},
                        "category": {"dtype": "INT32"},
                        "rating": {"default": 3.5},
                        "title": {"dtype": "String", "default": "untitled"},
                        "embedding": {"dtype": "FP32Vector", "dim": 2},
                    },
                },
                "stock": {"features": {"count": "INT32"}},
            },
        },
        "affinity": {
            "keys": ["user_id", "category_id"],
            "groups": {"score": {"dtype": "FP32", "features": ["value"]}},
        },
    }
}


class Clock:
    """Seconds since the epoch that move when told to."""

    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(backend: Backend, clock: Clock) -> FeatureStore:
    return FeatureStore(parse_schema(SHOP), backend, now=clock)


def fetch(read: StoreRead, *keys: list[str]) -> FeatureRows:
    """Drive a fetch by hand where it must finish without suspending, as local reads do."""
    coroutine = read.fetch(keys, deadline=Deadline(None))
    if isinstance(read, RemoteRead):
        return asyncio.run(coroutine)
    with pytest.raises(StopIteration) as finished:
        coroutine.send(None)
    answer: FeatureRows = finished.value.value
    return answer


def attributes(*runs: RunRead) -> FeatureRead:
    return FeatureRead("product", ("product_id",), (GroupRead("attributes", runs),))


PRICE_AND_RATING = attributes(RunRead(FP32, ("price", "rating"), (1, 1)))


# --- the medium -----------------------------------------------------------------------------


def test_what_was_put_is_got_in_the_order_asked(backend: Backend) -> None:
    backend.replace([b"a", b"b", b"c"], [b"1", b"2", b"3"])
    assert backend.get_many([b"c", b"x", b"a", b"c"]) == [b"3", None, b"1", b"3"]


def test_none_deletes_and_deleting_nothing_is_fine(backend: Backend) -> None:
    backend.replace([b"a", b"b"], [b"1", b"2"])
    backend.replace([b"a", b"never"], [None, None])
    assert backend.get_many([b"a", b"b", b"never"]) == [None, b"2", None]


def test_a_scan_is_everything_under_the_prefix_in_key_order(backend: Backend) -> None:
    keys = [b"\x01%04d" % number for number in range(2500)]
    backend.replace([*reversed(keys), b"\x00z", b"\x02a"], [b"v"] * 2502)
    assert [key for key, _ in backend.scan(b"\x01")] == keys
    assert list(backend.scan(b"\x03")) == []


def test_an_update_sees_the_old_rows_and_writes_the_new_ones(backend: Backend) -> None:
    backend.replace([b"a"], [b"1"])
    backend.update([b"a", b"b"], lambda old: [(row or b"") + b"!" for row in old])
    assert backend.get_many([b"a", b"b"]) == [b"1!", b"!"]


def test_an_update_that_fails_leaves_everything_as_it_was(backend: Backend) -> None:
    backend.replace([b"a"], [b"1"])

    def fail(_: list[bytes | None]) -> list[bytes | None]:
        raise RowRejected("test", 1, "no")

    with pytest.raises(RowRejected):
        backend.update([b"a"], fail)
    assert backend.get_many([b"a"]) == [b"1"]
    backend.replace([b"a"], [b"2"])
    assert backend.get_many([b"a"]) == [b"2"]


def test_no_update_is_lost_between_threads(backend: Backend) -> None:
    def count(old: list[bytes | None]) -> list[bytes]:
        return [b"%d" % (int(old[0] or b"0") + 1)]

    def work() -> None:
        for _ in range(25):
            backend.update([b"n"], count)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert backend.get_many([b"n"]) == [b"100"]


def test_a_reader_never_sees_half_a_batch(backend: Backend, request: pytest.FixtureRequest) -> None:
    """Of many keys; where they are on several machines, of the records of one entity key."""
    is_cluster = "cluster" in request.node.callspec.id
    keys = [b"\x01group%02dthe key" % at if is_cluster else b"%d" % at for at in range(50)]
    backend.replace(keys, [b"0"] * 50)
    stop = threading.Event()

    def write() -> None:
        for turn in range(100):
            backend.replace(keys, [b"%d" % turn] * 50)
        stop.set()

    writer = threading.Thread(target=write)
    writer.start()
    torn = 0
    while not stop.is_set():
        torn += len(set(backend.get_many(keys))) != 1
    writer.join()
    assert torn == 0


# --- the store: states ----------------------------------------------------------------------


def test_real_missing_expired_and_default_are_told_apart(store: FeatureStore, clock: Clock) -> None:
    store.put("product", "attributes", [{"product_id": 1, "price": 10.0, "rating": 4.0}])
    clock.now += 8
    store.put("product", "attributes", [{"product_id": 2, "price": 20.0}])
    clock.now += 5
    (rows,) = fetch(store.prepare(PRICE_AND_RATING), ["2", "1", "3"]).groups
    assert rows.states is not None
    assert rows.states.tolist() == [ReadState.REAL, ReadState.EXPIRED, ReadState.MISSING]
    assert rows.runs[0].tolist() == [[20.0, 3.5], [-1.0, 3.5], [-1.0, 3.5]]
    assert {name: mask.tolist() for name, mask in rows.absent.items()} == {
        "rating": [True, False, False]
    }


def test_when_every_key_is_real_there_are_no_states(store: FeatureStore, clock: Clock) -> None:
    store.put("product", "attributes", [{"product_id": 1, "price": 1, "rating": 2}])
    (rows,) = fetch(store.prepare(PRICE_AND_RATING), ["1"]).groups
    assert rows.states is None
    assert not rows.absent
    assert rows.written_ms is not None
    assert rows.written_ms.tolist() == [int(clock.now * 1000)]


def test_a_row_expires_exactly_when_its_ttl_is_over(store: FeatureStore, clock: Clock) -> None:
    store.put("product", "attributes", [{"product_id": 1, "price": 1.0}])
    read = store.prepare(PRICE_AND_RATING)
    clock.now += 9.999
    assert fetch(read, ["1"]).groups[0].states is None
    clock.now += 0.001
    states = fetch(read, ["1"]).groups[0].states
    assert states is not None
    assert states.tolist() == [ReadState.EXPIRED]


def test_a_group_without_ttl_stays(store: FeatureStore, clock: Clock) -> None:
    store.put("product", "stock", [{"product_id": 1, "count": 5}])
    clock.now += 1e9
    assert [v.value for v in store.get("product", 1) if v.group == "stock"] == [5]


# --- the store: writing ---------------------------------------------------------------------


def values(store: FeatureStore, key: object, entity: str = "product") -> dict[str, object]:
    return {
        found.feature: found.value
        for found in store.get(entity, key)
        if found.state is ReadState.REAL
    }


def test_a_partial_update_keeps_its_siblings(store: FeatureStore) -> None:
    store.put("product", "attributes", [{"product_id": 1, "price": 1.0, "title": "lamp"}])
    store.put("product", "attributes", [{"product_id": 1, "rating": 2.0, "embedding": [1, 2]}])
    assert values(store, 1) == {
        "price": 1.0,
        "title": "lamp",
        "rating": 2.0,
        "embedding": [1.0, 2.0],
    }


def test_a_partial_update_does_not_revive_what_had_expired(
    store: FeatureStore, clock: Clock
) -> None:
    store.put("product", "attributes", [{"product_id": 1, "price": 1.0}])
    clock.now += 60
    store.put("product", "attributes", [{"product_id": 1, "rating": 2.0}])
    assert values(store, 1) == {"rating": 2.0}


def test_none_takes_a_value_away(store: FeatureStore) -> None:
    store.put("product", "attributes", [{"product_id": 1, "price": 1.0, "rating": 2.0}])
    store.put("product", "attributes", [{"product_id": 1, "price": None}])
    price = next(v for v in store.get("product", 1) if v.feature == "price")
    assert (price.value, price.state) == (-1.0, ReadState.DEFAULT)
    assert values(store, 1) == {"rating": 2.0}


def test_one_put_may_span_groups_and_rows_may_differ(store: FeatureStore) -> None:
    store.put(
        "product",
        None,
        [{"product_id": 1, "price": 1.0, "count": 3}, {"product_id": 3, "count": 7}],
    )
    assert values(store, 1) == {"price": 1.0, "count": 3}
    states = {v.feature: v.state for v in store.get("product", 3)}
    assert states["count"] is ReadState.REAL
    assert states["price"] is ReadState.MISSING


def test_of_equal_keys_in_one_put_the_last_word_on_each_feature_counts(store: FeatureStore) -> None:
    rows = [
        {"product_id": 1, "price": 1.0, "rating": 1.0},
        {"product_id": 1.0, "price": 2.0},
        {"product_id": "1", "title": "lamp"},
    ]
    assert store.put("product", "attributes", rows) == 1
    assert values(store, 1) == {"price": 2.0, "rating": 1.0, "title": "lamp"}


def test_a_bad_row_is_named_and_nothing_is_applied(store: FeatureStore) -> None:
    rows = [{"product_id": 1, "price": 1.0}, {"product_id": 2, "price": "cheap"}]
    with pytest.raises(RowRejected, match=r"put, row 2: feature 'price'.*'cheap'") as refused:
        store.put("product", "attributes", rows)
    assert refused.value.row == 2
    assert values(store, 1) == {}


@pytest.mark.parametrize(
    ("row", "what"),
    [
        ({"price": 1.0}, "no column 'product_id'"),
        ({"product_id": 1, "prise": 1.0}, "did you mean 'price'"),
        ({"product_id": 1}, "no feature besides the key"),
        ({"product_id": None, "price": 1.0}, "row 1: key 'product_id'"),
        ({"product_id": float("nan"), "price": 1.0}, "row 1: key 'product_id'"),
        ({"product_id": "", "price": 1.0}, "row 1: key 'product_id'"),
        ({"product_id": 1, "category": 2**31}, "row 1: feature 'category'"),
        ({"product_id": 1, "category": 1.5}, "row 1: feature 'category'"),
        ({"product_id": 1, "embedding": [1.0]}, "row 1: feature 'embedding'"),
        ({"product_id": 1, "title": "\ud800"}, "row 1: feature 'title'"),
    ],
)
def test_what_does_not_fit_the_schema_is_refused(
    store: FeatureStore, row: dict[str, object], what: str
) -> None:
    with pytest.raises(InvalidInput, match=what):
        store.put("product", "attributes", [row])


def test_deleting_forgets_a_key_in_every_group(store: FeatureStore, backend: Backend) -> None:
    store.put("product", None, [{"product_id": key, "price": 1, "count": 1} for key in (1, 2)])
    only_stock = {"entities": {"product": {**SHOP["entities"]["product"]}}}
    only_stock["entities"]["product"]["groups"] = {"stock": {"features": {"count": "INT32"}}}
    later = store.with_schema(parse_schema(only_stock))
    assert later.delete("product", 1)
    assert not later.delete("product", 1)
    assert values(store, 1) == {}
    assert values(store, 2) == {"price": 1.0, "count": 1}


# --- the store: queries ---------------------------------------------------------------------


def test_composite_keys_come_in_any_order_and_never_collide(store: FeatureStore) -> None:
    rows = [
        {"user_id": "1", "category_id": "23", "value": 1.0},
        {"user_id": "12", "category_id": "3", "value": 2.0},
        {"user_id": "1|2", "category_id": "3", "value": 3.0},
        {"user_id": "1", "category_id": "2|3", "value": 4.0},
    ]
    store.put("affinity", "score", rows)
    group = GroupRead("score", (RunRead(FP32, ("value",), (1,)),))
    for names in (("user_id", "category_id"), ("category_id", "user_id")):
        read = store.prepare(FeatureRead("affinity", names, (group,)))
        keys = [[str(row[name]) for row in rows] for name in names]
        assert fetch(read, *keys).groups[0].runs[0][:, 0].tolist() == [1.0, 2.0, 3.0, 4.0]


def test_a_key_longer_than_any_backend_takes_is_stored_and_listed(store: FeatureStore) -> None:
    long = "k" * 2000
    store.put("affinity", "score", [{"user_id": long, "category_id": "1", "value": 1.0}])
    store.put("affinity", "score", [{"user_id": long[:-1], "category_id": "1", "value": 2.0}])
    assert values(store, [long, 1], "affinity") == {"value": 1.0}
    pages = list(store.scan("affinity", "score"))
    assert sorted(key for page in pages for key in page.keys[0]) == [long[:-1], long]


def test_several_groups_and_types_come_from_one_fetch(store: FeatureStore) -> None:
    store.put(
        "product",
        None,
        [{"product_id": "a", "price": 9.5, "title": "ünï", "embedding": "1:2", "count": 4}],
    )
    read = store.prepare(
        FeatureRead(
            "product",
            ("product_id",),
            (
                GroupRead("stock", (RunRead(FP32, ("count",), (1,)),)),
                GroupRead(
                    "attributes",
                    (
                        RunRead(STRING, ("title", "price"), (1, 1)),
                        RunRead(INT32, ("embedding", "price"), (2, 1)),
                    ),
                ),
            ),
        )
    )
    stock, found = fetch(read, ["a", "b"]).groups
    assert stock.runs[0].tolist() == [[4.0], [0.0]]
    assert found.runs[0].tolist() == [["ünï", "9.5"], ["untitled", "-1"]]
    assert found.runs[1].tolist() == [[1, 2, 9], [0, 0, -1]]


def test_features_asked_for_in_schema_order_are_one_view_of_the_rows(store: FeatureStore) -> None:
    keys = [str(number) for number in range(20)]
    table = {"user_id": [1] * 20, "category_id": keys, "value": keys}
    import_table(store, "affinity", "score", table)
    group = GroupRead("score", (RunRead(FP32, ("value",), (1,)),))
    read = store.prepare(FeatureRead("affinity", ("user_id", "category_id"), (group,)))
    (rows,) = fetch(read, ["1"] * 20, keys).groups
    assert rows.runs[0][:, 0].tolist() == list(range(20))
    assert not rows.runs[0].flags.owndata


def test_a_feature_asked_for_twice_is_given_twice(store: FeatureStore) -> None:
    store.put("product", "stock", [{"product_id": 1, "count": 4}])
    run = RunRead(INT32, ("count", "count"), (1, 1))
    read = FeatureRead("product", ("product_id",), (GroupRead("stock", (run,)),) * 2)
    for rows in fetch(store.prepare(read), ["1"]).groups:
        assert rows.runs[0].tolist() == [[4, 4]]


@pytest.mark.parametrize(
    ("read", "named", "nearest"),
    [
        (FeatureRead("produkt", ("product_id",), ()), "produkt", "product"),
        (FeatureRead("product", ("product_id",), (GroupRead("stok", ()),)), "stok", "stock"),
        (attributes(RunRead(FP32, ("prices",), (1,))), "prices", "price"),
        (FeatureRead("product", ("product_ids",), ()), "product_ids", "product_id"),
        (FeatureRead("affinity", ("user_id",), ()), "category_id", ""),
    ],
)
def test_an_unknown_name_is_refused_when_the_query_is_prepared(
    store: FeatureStore, read: FeatureRead, named: str, nearest: str
) -> None:
    with pytest.raises(NotFound) as refused:
        store.prepare(read)
    assert (refused.value.name, refused.value.nearest) == (named, nearest)


def test_a_passed_deadline_stops_a_read(store: FeatureStore) -> None:
    read = store.prepare(PRICE_AND_RATING)
    with pytest.raises(DeadlinePassed):
        read.fetch((["1"],), deadline=Deadline(-1)).send(None)


def test_half_a_surrogate_pair_is_a_key_nobody_wrote(store: FeatureStore) -> None:
    states = fetch(store.prepare(PRICE_AND_RATING), ["\ud800"]).groups[0].states
    assert states is not None
    assert states.tolist() == [ReadState.MISSING]


# --- the store: schemas over time -----------------------------------------------------------


def group_of(**features: object) -> dict[str, object]:
    return {"entities": {"item": {"keys": ["id"], "groups": {"g": {"features": dict(features)}}}}}


Evolved = Callable[..., FeatureStore]


@pytest.fixture
def under(backend: Backend, clock: Clock) -> Evolved:
    """A store on the same rows under a schema with these features."""

    def opened(**features: object) -> FeatureStore:
        return FeatureStore(parse_schema(group_of(**features)), backend, now=clock)

    return opened


def states(store: FeatureStore, key: object) -> dict[str, tuple[object, ReadState]]:
    return {found.feature: (found.value, found.state) for found in store.get("item", key)}


def test_a_feature_added_later_reads_as_its_default_in_old_rows(under: Evolved) -> None:
    under(a="FP32").put("item", "g", [{"id": 1, "a": 1.5}])
    later = under(a="FP32", b={"dtype": "INT32", "default": 7})
    later.put("item", "g", [{"id": 2, "a": 2.5, "b": 9}])
    assert states(later, 1) == {"a": (1.5, ReadState.REAL), "b": (7, ReadState.DEFAULT)}
    assert states(later, 2) == {"a": (2.5, ReadState.REAL), "b": (9, ReadState.REAL)}


def test_a_retyped_feature_is_cast_in_old_rows(under: Evolved) -> None:
    under(a="INT32", s="String").put("item", "g", [{"id": 1, "a": 3, "s": "12"}])
    under(a="INT32", s="String").put("item", "g", [{"id": 2, "a": 4, "s": "twelve"}])
    later = under(a="FP64", s={"dtype": "INT32", "default": -1})
    assert states(later, 1) == {"a": (3.0, ReadState.REAL), "s": (12, ReadState.REAL)}
    assert states(later, 2) == {"a": (4.0, ReadState.REAL), "s": (-1, ReadState.DEFAULT)}


def test_a_vector_of_another_length_is_not_cut_or_padded(under: Evolved) -> None:
    under(v={"dtype": "FP32Vector", "dim": 2}).put("item", "g", [{"id": 1, "v": [1, 2]}])
    later = under(v={"dtype": "FP32Vector", "dim": 3})
    assert states(later, 1) == {"v": ([0.0, 0.0, 0.0], ReadState.DEFAULT)}


def test_a_feature_that_was_dropped_does_not_come_back_from_rewritten_rows(under: Evolved) -> None:
    under(a="FP32", b="FP32").put("item", "g", [{"id": 1, "a": 1, "b": 2}])
    under(a="FP32").put("item", "g", [{"id": 1, "a": 3}])
    back = under(a="FP32", b="FP64")
    assert states(back, 1) == {"a": (3.0, ReadState.REAL), "b": (0.0, ReadState.DEFAULT)}


def test_each_new_layout_gets_the_next_version_and_an_old_one_keeps_its_number(
    under: Evolved,
) -> None:
    versions = [
        under(**features).group("item", "g").version
        for features in ({"a": "FP32"}, {"a": "FP64"}, {"a": "FP64", "b": "Bool"}, {"a": "FP32"})
    ]
    assert versions == [1, 2, 3, 1]


def test_reads_of_the_old_schema_go_on_after_the_schema_changed(under: Evolved) -> None:
    old = under(a="FP32", b="FP32")
    old.put("item", "g", [{"id": 1, "a": 1, "b": 2}])
    group = GroupRead("g", (RunRead(FP32, ("a", "b"), (1, 1)),))
    read = old.prepare(FeatureRead("item", ("id",), (group,)))
    under(b="INT64", c="FP32").put("item", "g", [{"id": 2, "b": 5, "c": 1}])
    (rows,) = fetch(read, ["1", "2"]).groups
    assert rows.runs[0].tolist() == [[1.0, 2.0], [0.0, 5.0]]
    assert {name: mask.tolist() for name, mask in rows.absent.items()} == {"a": [False, True]}


def test_stored_rows_cannot_be_given_other_keys(under: Evolved, backend: Backend) -> None:
    under(a="FP32").put("item", "g", [{"id": 1, "a": 1}])
    rekeyed = group_of(a="FP32")
    rekeyed["entities"]["item"]["keys"] = ["id", "region"]  # type: ignore[index]
    with pytest.raises(InvalidInput, match="keyed by"):
        FeatureStore(parse_schema(rekeyed), backend)


def test_a_store_of_another_format_is_refused(backend: Backend) -> None:
    FeatureStore(parse_schema(SHOP), backend)
    ((key, _),) = list(backend.scan(b"\x00format"))
    backend.replace([key], [b"99"])
    with pytest.raises(InvalidInput, match="format 99"):
        FeatureStore(parse_schema(SHOP), backend)


# --- the store: whole tables ----------------------------------------------------------------


def test_a_large_table_is_imported_and_scanned_back(store: FeatureStore) -> None:
    count = 30_000
    table = {"product_id": np.arange(count), "count": np.arange(count, dtype=np.int32) % 1000}
    calls: list[tuple[int, int]] = []
    done = import_table(store, "product", "stock", table, progress=lambda *at: calls.append(at))
    assert done == count
    assert calls == [(0, count), (count, count)]
    found = {
        int(key): value
        for page in store.scan("product", "stock")
        for key, value in zip(page.keys[0], page.rows.runs[0][:, 0].tolist(), strict=True)
    }
    assert found == {number: number % 1000 for number in range(count)}
