"""Answers of a feature service: equal to the store's own, and believed no further than checked."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inferflow._proto.pool import message_class
from inferflow.client.features.query import FeatureQuery, key_messages
from inferflow.dtypes import DTYPES, FP32, FP64, INT64, STRING
from inferflow.engine.ports import FeatureRows, ReadState
from inferflow.errors import StoreFailed
from inferflow.featurestore import FeatureStore, MemoryBackend, parse_schema
from inferflow.plan.query import FeatureRead, GroupRead, RunRead

from ....robustness.scenario import StartScenario
from .parts import embedded, plain, reader, remote, served

Result = message_class("retrieve.Result")

SCHEMA = {
    "entities": {
        "item": {
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
                "more": {
                    "features": {
                        "count": {"dtype": "Int32", "default": 5},
                        "flags": {"dtype": "BoolVector", "dim": 3},
                        "small": {"dtype": "FP8E4M3"},
                        "words": {"dtype": "StringVector", "dim": 2},
                    }
                },
            },
        },
        "pair": {"keys": ["a", "b"], "groups": {"g": {"features": {"f": "FP32"}}}},
    }
}
DIMS = {"flags": 3, "words": 2}
TEXTS = {"name", "words"}
READ = FeatureRead(
    "item",
    ("id",),
    (
        GroupRead(
            "price", (RunRead(FP32, ("now", "old"), (1, 1)), RunRead(STRING, ("name",), (1,)))
        ),
        GroupRead("more", (RunRead(INT64, ("count",), (1,)),)),
    ),
)


def shop() -> FeatureStore:
    clock = [1_700_000_000.0]
    store = FeatureStore(parse_schema(SCHEMA), MemoryBackend(), now=lambda: clock[0])
    store.put("item", None, [{"id": "old", "now": 1.0, "count": 1}])
    clock[0] += 60
    rows = [
        {"id": "1", "now": 2.5, "old": 1 / 3, "name": "lamp", "count": 2, "words": ["a", "bc"]},
        {"id": "2", "now": 4.5, "flags": [True, False, True], "small": 1.75},
        {"id": "ünï", "name": "ünï", "count": -7},
    ]
    store.put("item", None, rows)
    store.put("pair", None, [{"a": "x", "b": "y", "f": 1.0}, {"a": "x", "b": "z", "f": 2.0}])
    return store


STORE = shop()


@st.composite
def reads(draw: st.DrawFn) -> FeatureRead:
    groups = []
    labels = draw(st.lists(st.sampled_from(["price", "more"]), min_size=1, unique=True))
    for label in labels:
        known = list(STORE.schema.group("item", label).features)
        runs: dict[Any, list[str]] = {}
        for name in draw(st.lists(st.sampled_from(known), min_size=1, max_size=6)):
            kinds = [STRING] if name in TEXTS else [t for t in DTYPES.values() if not t.is_vector]
            run = runs.setdefault(draw(st.sampled_from(kinds)), [])
            if name not in run:
                run.append(name)
        groups.append(
            GroupRead(
                label,
                tuple(
                    RunRead(dtype, tuple(names), tuple(DIMS.get(name, 1) for name in names))
                    for dtype, names in runs.items()
                ),
            )
        )
    return FeatureRead("item", ("id",), tuple(groups))


KEYS = st.lists(st.sampled_from(["1", "2", "old", "ünï", "never", ""]), min_size=1, unique=True)


@given(reads(), KEYS)
def test_a_remote_read_says_exactly_what_the_store_itself_says(
    read: FeatureRead, keys: list[str]
) -> None:
    assert plain(remote(STORE, read, keys)) == plain(embedded(STORE, read, keys))


def test_composite_keys_come_back_in_their_order() -> None:
    read = FeatureRead("pair", ("b", "a"), (GroupRead("g", (RunRead(FP32, ("f",), (1,)),)),))
    found = remote(STORE, read, ["z", "no", "y"], ["x", "x", "x"])
    assert found.groups[0].runs[0][:, 0].tolist() == [2.0, 0.0, 1.0]
    assert plain(found) == plain(embedded(STORE, read, ["z", "no", "y"], ["x", "x", "x"]))


def test_a_service_that_tells_nothing_about_its_values_has_them_all() -> None:
    (price, more) = remote(STORE, READ, ["1", "never"], presence=False).groups
    assert price.states is None
    assert price.written_ms is None
    assert price.runs[0].tolist() == [[2.5, pytest.approx(1 / 3)], [-1.5, pytest.approx(0.1)]]
    assert more.runs[0].tolist() == [[2], [5]]


# --- answers that are not as they should be -------------------------------------------------

KEYS_ASKED = ["1", "2", "never"]


def doctored(change: Any) -> FeatureRows:
    """What is made of an answer that was changed on its way."""
    messages = key_messages((KEYS_ASKED,))
    answer = Result.FromString(served(STORE, FeatureQuery(READ).of(messages)))
    change(answer)
    return reader(STORE, READ).read(answer.SerializeToString(), messages)


def healthy() -> list[dict[str, Any]]:
    return plain(embedded(STORE, READ, KEYS_ASKED))


def test_rows_in_another_order_are_matched_by_their_keys(scenario: StartScenario) -> None:
    tried = scenario("D2", "rows in another order than they were asked for")

    def swap(answer: Any) -> None:
        rows = [*answer.rows]
        del answer.rows[:]
        answer.rows.extend([rows[2], rows[0], rows[1]])
        states, width = answer.presence.states, 4
        parts = [states[at * width : (at + 1) * width] for at in (2, 0, 1)]
        answer.presence.states = b"".join(parts)
        times = [*answer.presence.written_ms]
        answer.presence.written_ms[:] = [times[at * 2 + g] for at in (2, 0, 1) for g in (0, 1)]

    is_same = plain(doctored(swap)) == healthy()
    tried.holds("each key has its own row", f"{len(KEYS_ASKED)} keys", is_same)


def test_columns_in_another_order_are_matched_by_their_labels() -> None:
    def swap(answer: Any) -> None:
        features = answer.feature_schemas[0].features
        features[0].column_idx, features[1].column_idx = 1, 0
        for row in answer.rows:
            row.columns[0], row.columns[1] = row.columns[1], row.columns[0]
        answer.ClearField("presence")

    found = doctored(swap)
    assert (
        found.groups[0].runs[0].tobytes()
        == embedded(STORE, READ, KEYS_ASKED).groups[0].runs[0].tobytes()
    )


def test_a_key_without_a_row_is_failed_and_its_neighbours_are_not(
    scenario: StartScenario,
) -> None:
    tried = scenario("D2", "no row for one of three keys")

    def cut(answer: Any) -> None:
        del answer.rows[1]
        answer.ClearField("presence")

    found = doctored(cut)
    for group in found.groups:
        assert group.states is not None
        states = group.states.tolist()
        tried.holds("that key is marked and no other", states, states == [0, ReadState.FAILED, 0])
    assert found.groups[0].runs[0][:, 0].tolist() == [2.5, -1.5, -1.5]
    assert found.groups[1].runs[0][:, 0].tolist() == [2, 5, 5]
    assert found.failure == "there:1 answered nothing for 1 of 3 key(s)"


def test_rows_of_keys_that_nobody_asked_for_are_left_out() -> None:
    def add(answer: Any) -> None:
        answer.rows.insert(0, answer.rows[0])
        answer.rows[0].keys[0] = "another"
        answer.ClearField("presence")

    assert doctored(add).groups[1].runs[0][:, 0].tolist() == [2, 5, 5]


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (b"abc", "column 'price:now': 3 bytes where FP32 takes 4"),
        (b"", "column 'price:now': 0 bytes where FP32 takes 4"),
        (b"12345678", "column 'price:now': 8 bytes where FP32 takes 4"),
    ],
)
def test_a_value_of_the_wrong_length_costs_its_own_key_and_is_named(
    value: bytes, what: str, scenario: StartScenario
) -> None:
    tried = scenario("D3", "a value of 0, 3 and 8 bytes where FP32 takes 4")

    def spoil(answer: Any) -> None:
        answer.rows[0].columns[0] = value

    found = doctored(spoil)
    price, more = found.groups
    assert price.states is not None
    assert price.states.tolist() == [ReadState.FAILED, 0, ReadState.MISSING]
    moved = [each for each in price.runs[0][1:, 0].tolist() if each not in (4.5, -1.5)]
    assert price.runs[0][:, 0].tolist() == [-1.5, 4.5, -1.5]
    assert plain(FeatureRows((more,))) == healthy()[1:]
    tried.none("neighbour moves", moved)
    tried.holds("the column and both lengths are told", found.failure, what in found.failure)


def test_a_column_that_is_wrong_in_every_row_fails_every_key() -> None:
    def spoil(answer: Any) -> None:
        for row in answer.rows:
            row.columns[0] = b"abc"

    states = doctored(spoil).groups[0].states
    assert states is not None
    assert states.tolist() == [ReadState.FAILED] * 3


def test_a_row_with_too_few_columns_is_failed() -> None:
    def cut(answer: Any) -> None:
        del answer.rows[2].columns[-1]

    found = doctored(cut)
    states = found.groups[1].states
    assert states is not None
    assert states.tolist()[2] == ReadState.FAILED
    assert "column 'more:count': no value" in found.failure


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (
            lambda answer: answer.feature_schemas[0].features.pop(),
            "without the column 'price:name'",
        ),
        (lambda answer: answer.ClearField("feature_schemas"), "without the column 'price:now'"),
        (lambda answer: setattr(answer.presence, "states", b"12"), "2 states for 12 values"),
        (
            lambda answer: setattr(answer.feature_schemas[0].features[0], "column_idx", -1),
            "not numbered from 0",
        ),
        (
            lambda answer: setattr(answer.feature_schemas[0].features[0], "column_idx", 1),
            "not numbered from 0",
        ),
        (lambda answer: answer.presence.written_ms.pop(), "5 times for 6 rows"),
    ],
)
def test_an_answer_that_cannot_be_understood_is_refused_as_a_whole(change: Any, what: str) -> None:
    with pytest.raises(StoreFailed, match=what):
        doctored(change)


def test_bytes_that_are_no_answer_are_refused() -> None:
    with pytest.raises(StoreFailed, match=r"no retrieve\.Result"):
        reader(STORE, READ).read(b"\xff\xff", key_messages((["1"],)))


HEALTHY = served(STORE, FeatureQuery(READ).of(key_messages((KEYS_ASKED,))))


@given(at=st.integers(0, len(HEALTHY) - 1), put=st.binary(max_size=4), cut=st.integers(0, 4))
def test_an_answer_that_was_damaged_is_refused_or_has_a_row_for_every_key(
    scenario: StartScenario, at: int, put: bytes, cut: int
) -> None:
    tried = scenario("D3", "an answer damaged at random")
    body = HEALTHY[:at] + put + HEALTHY[at + cut :]
    try:
        found = reader(STORE, READ).read(body, key_messages((KEYS_ASKED,)))
    except StoreFailed:
        return
    lengths = {len(run) for group in found.groups for run in group.runs}
    tried.holds("refused, or a row for every key", lengths, lengths == {len(KEYS_ASKED)})


def test_without_a_schema_features_are_stored_as_they_are_wanted() -> None:
    from inferflow.client.features.answer import AnswerReader
    from inferflow.client.features.expected import expected_groups

    runs = (RunRead(FP64, ("old",), (1,)), RunRead(STRING, ("name",), (1,)))
    read = FeatureRead("item", ("id",), (GroupRead("price", runs),))
    messages = key_messages((["1"],))
    body = served(STORE, FeatureQuery(read).of(messages))
    found = AnswerReader("there:1", expected_groups(read, None)).read(body, messages)
    assert found.groups[0].runs[0].tolist() == [[1 / 3]]
    assert found.groups[0].runs[1].tolist() == [["lamp"]]
