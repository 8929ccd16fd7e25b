"""A reader that says something else, checked against a store that holds it."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inferflow.app.backoffice.what_if import Instead, InsteadReader
from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import FeatureRows, ReadState
from inferflow.engine.scorer import finish
from inferflow.featurestore import FeatureStore, MemoryBackend
from inferflow.featurestore.schema import parse_schema
from inferflow.plan.query import FeatureRead, GroupRead, RunRead

SCHEMA = parse_schema(
    {
        "entities": {
            "user": {
                "keys": ["user_id"],
                "groups": {"p": {"features": {"a": {"dtype": "FP32"}, "b": {"dtype": "FP32"}}}},
            }
        }
    }
)
FP32 = SCHEMA.entity("user").groups["p"].features["a"].dtype
READ = FeatureRead("user", ("user_id",), (GroupRead("p", (RunRead(FP32, ("a", "b"), (1, 1)),)),))
KEYS = ["1", "2", "3"]

rows = st.dictionaries(
    st.sampled_from(KEYS),
    st.fixed_dictionaries({}, optional={"a": st.floats(0, 9, width=32)})
    | st.fixed_dictionaries({"b": st.floats(0, 9, width=32)}),
)


def stored(content: dict[str, dict[str, float]]) -> FeatureStore:
    store = FeatureStore(SCHEMA, MemoryBackend(), now=lambda: 1.0)
    for key, values in content.items():
        if values:
            store.put("user", "p", [{"user_id": key, **values}])
    return store


def fetched(reader: FeatureStore | InsteadReader) -> FeatureRows:
    return finish(reader.prepare(READ).fetch((KEYS,), deadline=Deadline(None)))


def states(rows: FeatureRows, name: str) -> list[ReadState]:
    (group,) = rows.groups
    absent = group.absent.get(name)
    found = []
    for at in range(len(KEYS)):
        state = ReadState.REAL if group.states is None else ReadState(int(group.states[at]))
        if state is ReadState.REAL and absent is not None and absent[at]:
            state = ReadState.DEFAULT
        found.append(state)
    return found


@given(rows, st.sampled_from([*KEYS, None]), st.sampled_from("ab"))
def test_it_reads_as_if_the_store_held_the_value(
    content: dict[str, dict[str, float]], key: str | None, feature: str
) -> None:
    column = "ab".index(feature)
    instead = Instead(
        READ, 0, 0, column, feature, None if key is None else (key,), np.full((1, 1), 7, "f4")
    )
    told = fetched(InsteadReader(stored(content), [instead]))
    changed = {each: dict(values) for each, values in content.items()}
    for each in KEYS if key is None else [key]:
        changed.setdefault(each, {})[feature] = 7.0
    wanted = fetched(stored(changed))
    np.testing.assert_array_equal(told.groups[0].runs[0], wanted.groups[0].runs[0])
    for name in "ab":
        assert states(told, name) == states(wanted, name)


def test_the_rows_of_the_store_are_not_touched() -> None:
    store = stored({"1": {"a": 1.0, "b": 2.0}})
    before = list(store.backend.scan(b""))
    instead = Instead(READ, 0, 0, 0, "a", None, np.full((1, 1), 7, "f4"))
    fetched(InsteadReader(store, [instead]))
    assert list(store.backend.scan(b"")) == before


def test_a_read_of_another_step_is_left_alone() -> None:
    store = stored({"1": {"a": 1.0, "b": 2.0}})
    same = FeatureRead(READ.entity, READ.keys, READ.groups)
    instead = Instead(same, 0, 0, 0, "a", None, np.full((1, 1), 7, "f4"))
    assert fetched(InsteadReader(store, [instead])).groups[0].runs[0][0].tolist() == [1.0, 2.0]
