"""Reading features over the wire."""

from __future__ import annotations

from collections.abc import Sequence

import grpc
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow.dtypes import DTYPES, FP16, decode, encode
from inferflow.errors import StoreFailed, StoreUnreachable
from inferflow.featurestore import FeatureStore, MemoryBackend, parse_schema
from inferflow.rpc.admission import Admission

from .calls import Caller, called, query

SHOP = {
    "entities": {
        "product": {
            "keys": ["id"],
            "groups": {
                "price": {
                    "ttl": "10s",
                    "features": {
                        "now": {"dtype": "FP32", "default": -1.5},
                        "old": {"dtype": "FP64", "default": 0.1},
                        "name": {"dtype": "String", "default": "?"},
                    },
                },
                "stock": {"dtype": "Int32", "features": ["count", "sold"]},
                "shape": {"features": {"vector": {"dtype": "FP32Vector", "dim": 3}}},
            },
        },
        "affinity": {
            "keys": ["user", "category"],
            "groups": {"score": {"dtype": "FP32", "features": ["value"]}},
        },
    }
}


class Clock:
    now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(clock: Clock) -> FeatureStore:
    made = FeatureStore(parse_schema(SHOP), MemoryBackend(), now=clock)
    made.put("product", None, [{"id": "1", "now": 2.5, "old": 3.0, "name": "lamp", "count": 7}])
    made.put("product", None, [{"id": "2", "now": 4.5, "count": 9, "sold": 1}])
    made.put("affinity", None, [{"user": "u|", "category": "c", "value": 1.0}])
    made.put("affinity", None, [{"user": "u", "category": "|c", "value": 2.0}])
    return made


def code_of(store: FeatureStore, asked: object, **options: object) -> tuple[grpc.StatusCode, str]:
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        called(store, lambda caller: caller.retrieve(asked), **options)
    return failed.value.code(), failed.value.details() or ""


def test_rows_answer_keys_in_their_order_and_columns_their_features(store: FeatureStore) -> None:
    asked = query(
        "product",
        [("stock", ["count"]), ("price", ["name", "now"])],
        [["2"], ["never"], ["1"]],
    )
    answer = called(store, lambda caller: caller.retrieve(asked))
    assert answer.entity_label == "product"
    assert list(answer.keys_schema) == ["id"]
    told = [
        (schema.feature_group_label, [(each.label, each.column_idx) for each in schema.features])
        for schema in answer.feature_schemas
    ]
    assert told == [("stock", [("count", 0)]), ("price", [("name", 1), ("now", 2)])]
    assert [list(row.keys) for row in answer.rows] == [["2"], ["never"], ["1"]]
    assert [list(row.columns) for row in answer.rows] == [
        [np.int32(9).tobytes(), b"?", np.float32(4.5).tobytes()],
        [np.int32(0).tobytes(), b"?", np.float32(-1.5).tobytes()],
        [np.int32(7).tobytes(), b"lamp", np.float32(2.5).tobytes()],
    ]


def test_a_key_that_comes_twice_is_answered_twice(store: FeatureStore) -> None:
    asked = query("product", [("stock", ["count"])], [["1"], ["2"], ["1"], ["1"]])
    answer = called(store, lambda caller: caller.retrieve(asked))
    assert [row.keys[0] for row in answer.rows] == ["1", "2", "1", "1"]
    assert [np.frombuffer(row.columns[0], "<i4")[0] for row in answer.rows] == [7, 9, 7, 7]


def test_a_group_or_feature_that_is_named_twice_is_filled_each_time(store: FeatureStore) -> None:
    groups = [("stock", ["count", "count"]), ("price", ["now"]), ("stock", ["sold", "count"])]
    answer = called(store, lambda caller: caller.retrieve(query("product", groups, [["2"]])))
    assert [each.column_idx for schema in answer.feature_schemas for each in schema.features] == [
        *range(5)
    ]
    nine = np.int32(9).tobytes()
    assert list(answer.rows[0].columns) == [
        nine,
        nine,
        np.float32(4.5).tobytes(),
        np.int32(1).tobytes(),
        nine,
    ]


def test_key_parts_come_in_any_order_and_never_run_together(store: FeatureStore) -> None:
    for names, keys in (
        (["user", "category"], [["u|", "c"], ["u", "|c"]]),
        (["category", "user"], [["c", "u|"], ["|c", "u"]]),
    ):
        asked = query("affinity", [("score", ["value"])], keys, names)
        answer = called(store, lambda caller, asked=asked: caller.retrieve(asked))
        assert [np.frombuffer(row.columns[0], "<f4")[0] for row in answer.rows] == [1.0, 2.0]
        assert [list(row.keys) for row in answer.rows] == keys


def test_without_keys_there_are_no_rows_and_without_features_no_columns(
    store: FeatureStore,
) -> None:
    none = called(
        store, lambda caller: caller.retrieve(query("product", [("stock", ["sold"])], []))
    )
    assert not none.rows
    assert none.feature_schemas[0].features[0].label == "sold"
    header = [("x-inferflow-presence", "")]
    empty = query("product", [("stock", ["sold"])], [])
    told = called(store, lambda caller: caller.retrieve(empty, header))
    assert told.presence.states == b""
    assert not called(store, lambda caller: caller.decoded(empty)).rows
    bare = called(store, lambda caller: caller.retrieve(query("product", [("stock", [])], [["1"]])))
    assert [list(row.columns) for row in bare.rows] == [[]]
    assert bare.rows[0].keys[0] == "1"


def test_floats_are_had_with_less_precision_defaults_included(store: FeatureStore) -> None:
    labels = ["old@DataTypeFP16", "old", "now@DataTypeFP8E4M3", "old@DataTypeFP32"]
    asked = query("product", [("price", labels)], [["1"], ["never"]])
    answer = called(store, lambda caller: caller.retrieve(asked))
    assert [each.label for each in answer.feature_schemas[0].features] == [
        "old",
        "old",
        "now",
        "old",
    ]
    sizes = [[len(value) for value in row.columns] for row in answer.rows]
    assert sizes == [[2, 8, 1, 4], [2, 8, 1, 4]]
    assert decode([answer.rows[1].columns[0]], FP16)[0] == np.float16(0.1)


@pytest.mark.parametrize(
    ("groups", "keys", "names", "code", "what"),
    [
        ([("stock", ["cuont"])], [["1"]], ["id"], "NOT_FOUND", "did you mean 'count'"),
        ([("stok", ["count"])], [["1"]], ["id"], "NOT_FOUND", "did you mean 'stock'"),
        ([("stock", ["count@DataTypeFP16"])], [["1"]], ["id"], "INVALID_ARGUMENT", "count@"),
        ([("price", ["now@DataTypeFP32"])], [["1"]], ["id"], "INVALID_ARGUMENT", "less precision"),
        ([("price", ["now@DataTypeFP16Vector"])], [["1"]], ["id"], "INVALID_ARGUMENT", "one value"),
        ([("price", ["now@nothing"])], [["1"]], ["id"], "INVALID_ARGUMENT", "'nothing'"),
        ([("price", ["now"])], [["1"]], ["ident"], "INVALID_ARGUMENT", "keys_schema"),
        ([("price", ["now"])], [["1"]], ["id", "id"], "INVALID_ARGUMENT", "keys_schema"),
        ([("price", ["now"])], [["1"], ["1", "2"]], ["id"], "INVALID_ARGUMENT", "2 value(s)"),
        ([("price", ["now"])], [["1"], []], ["id"], "INVALID_ARGUMENT", "0 value(s)"),
    ],
)
def test_what_cannot_be_answered_says_why(
    store: FeatureStore,
    groups: Sequence[tuple[str, Sequence[str]]],
    keys: Sequence[Sequence[str]],
    names: Sequence[str],
    code: str,
    what: str,
) -> None:
    found, text = code_of(store, query("product", groups, keys, names))
    assert found.name == code
    assert what in text


def test_an_unknown_entity_and_bytes_that_are_no_query_are_refused(store: FeatureStore) -> None:
    code, text = code_of(store, query("prodct", [("price", ["now"])], [["1"]]))
    assert (code, "did you mean 'product'" in text) == (grpc.StatusCode.NOT_FOUND, True)
    code, text = code_of(store, b"\xff\xff\xff")
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "retrieve.Query" in text
    wrong_text = query("product", [("price", ["now"])], [["@@"]]).SerializeToString()
    assert code_of(store, wrong_text.replace(b"@@", b"\xff\xfe"))[0].name == "INVALID_ARGUMENT"


def test_more_keys_than_allowed_are_refused(store: FeatureStore) -> None:
    from inferflow.api.features.service import FeaturePolicy

    asked = query("product", [("price", ["now"])], [["1"]] * 3)
    code, text = code_of(store, asked, policy=FeaturePolicy(max_keys=2))
    assert code is grpc.StatusCode.INVALID_ARGUMENT
    assert "3 where 2 are allowed" in text


def test_a_full_house_says_when_to_come_back(store: FeatureStore) -> None:
    asked = query("product", [("price", ["now"])], [["1"]])
    with pytest.raises(grpc.aio.AioRpcError) as failed:
        called(store, lambda caller: caller.retrieve(asked), admission=Admission(0))
    assert failed.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert dict(failed.value.trailing_metadata())["retry-after-ms"] == "100"


class Away(MemoryBackend):
    error: StoreFailed | None = None

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        if self.error is not None:
            raise self.error
        return super().get_many(keys)


@pytest.mark.parametrize(
    ("error", "code"),
    [(StoreUnreachable("it is away"), "UNAVAILABLE"), (StoreFailed("damaged"), "INTERNAL")],
)
def test_a_store_that_cannot_be_asked_is_an_error_and_no_row_of_defaults(
    error: StoreFailed, code: str
) -> None:
    backend = Away()
    store = FeatureStore(parse_schema(SHOP), backend)
    backend.error = error
    found, text = code_of(store, query("product", [("stock", ["count"])], [["1"]]))
    assert (found.name, text) == (code, str(error))


# --- presence -------------------------------------------------------------------------------


def test_who_asks_is_told_where_values_come_from_and_when_they_were_written(
    store: FeatureStore, clock: Clock
) -> None:
    written_ms = int(clock.now * 1000)
    clock.now += 60
    store.put("product", None, [{"id": "3", "now": 1.0}])
    asked = query(
        "product", [("price", ["now", "name"]), ("stock", ["count"])], [["3"], ["1"], ["9"], ["3"]]
    )

    async def both(caller: Caller) -> tuple[object, object]:
        return await caller.retrieve(asked), await caller.retrieve(
            asked, [("x-inferflow-presence", "1")]
        )

    silent, told = called(store, both, now=clock)
    assert not silent.HasField("presence")
    real, default, missing, expired = 0, 1, 2, 3
    assert list(told.presence.states) == [
        *(real, default, missing),
        *(expired, expired, real),
        *(missing, missing, missing),
        *(real, default, missing),
    ]
    now_ms = int(clock.now * 1000)
    assert list(told.presence.written_ms) == [
        *(now_ms, 0),
        *(written_ms, written_ms),
        *(0, 0),
        *(now_ms, 0),
    ]
    assert told.presence.now_ms == now_ms
    told.ClearField("presence")
    assert told == silent


# --- text -----------------------------------------------------------------------------------


def test_decoded_answers_are_text_and_name_no_entity(store: FeatureStore) -> None:
    store.put("product", None, [{"id": "v", "vector": [1e6, 0.5, -1e-5], "now": 1234567}])
    asked = query(
        "product",
        [("shape", ["vector"]), ("price", ["now", "name"]), ("stock", ["count"])],
        [["v"], ["never"]],
    )
    answer = called(store, lambda caller: caller.decoded(asked))
    assert list(answer.keys_schema) == ["id"]
    assert [list(row.columns) for row in answer.rows] == [
        ["1000000:0.5:-0.00001", "1.234567e+06", "?", "0"],
        ["0:0:0", "-1.5", "?", "0"],
    ]


# --- every type -----------------------------------------------------------------------------


def _types() -> dict[str, object]:
    features = {
        dtype.name: {"dtype": dtype.name, **({"dim": 3} if dtype.is_vector else {})}
        for dtype in DTYPES.values()
    }
    return {"entities": {"all": {"keys": ["id"], "groups": {"g": {"features": features}}}}}


@given(st.lists(st.sampled_from([dtype.name for dtype in DTYPES.values()]), min_size=1, max_size=8))
def test_every_type_is_written_as_its_own_bytes(names: list[str]) -> None:
    from inferflow.api.features.answering import Found, result
    from inferflow.api.features.selection import select
    from inferflow.engine.deadline import Deadline
    from inferflow.engine.scorer import finish

    store = FeatureStore(parse_schema(_types()), MemoryBackend())
    row: dict[str, object] = {"id": "1"}
    for dtype in DTYPES.values():
        one: object = "ab" if dtype.is_text else True if dtype.is_bool else 3
        row[dtype.name] = [one] * 3 if dtype.is_vector else one
    store.put("all", "g", [row])
    selection = select(store.schema, "all", (("g", tuple(names)),), ("id",))
    rows = finish(store.prepare(selection.read).fetch((["1", "2"],), deadline=Deadline(None)))
    from .calls import Keys, Result

    keys = [Keys(cols=[key]).SerializeToString() for key in ("1", "2")]
    answer = Result.FromString(result(selection, keys, Found(rows, 2, None), b""))
    for at, name in enumerate(names):
        dtype = next(each for each in DTYPES.values() if each.name == name)
        values = [value.value for value in store.get("all", "1") if value.feature == name]
        array = np.array(values, dtype.numpy)
        assert answer.rows[0].columns[at] == encode(array, dtype)[0]
        assert len(answer.rows[1].columns) == len(names)
