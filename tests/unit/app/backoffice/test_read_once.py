"""A reader that does not change its mind, whatever is written meanwhile."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from inferflow.app.backoffice.read_once import OnceReader
from inferflow.components.feature_rows import only
from inferflow.engine.deadline import Deadline
from inferflow.engine.ports import FeatureReader, FeatureRows
from inferflow.engine.scorer import finish
from inferflow.plan.query import FeatureRead

from .test_what_if import KEYS, READ, rows, stored

Rows = dict[str, dict[str, float]]
asked = st.lists(st.lists(st.sampled_from(KEYS), min_size=1, unique=True), max_size=6)


def fetched(reader: FeatureReader, keys: list[str], read: FeatureRead = READ) -> FeatureRows:
    return finish(reader.prepare(read).fetch((keys,), deadline=Deadline(None)))


def told(found: FeatureRows) -> list[tuple[object, ...]]:
    (group,) = found.groups
    count = len(group.runs[0])
    states = np.zeros(count, np.uint8) if group.states is None else group.states
    absent = {name: mask.tolist() for name, mask in group.absent.items() if mask.any()}
    return [group.runs[0].tolist(), states.tolist(), absent]


@given(rows, rows, asked)
def test_what_was_read_first_stays_and_what_is_new_is_read_now(
    before: dict[str, dict[str, float]],
    after: dict[str, dict[str, float]],
    batches: list[list[str]],
) -> None:
    store = stored(before)
    once, first = OnceReader(store), {}
    for number, keys in enumerate(batches):
        if number == 1:
            for key, values in after.items():
                if values:
                    store.put("user", "p", [{"user_id": key, **values}])
        for key in keys:
            if key not in first:
                first[key] = told(fetched(store, [key]))
        found = fetched(once, keys)
        assert [told(only(found, np.array([at]))) for at in range(len(keys))] == [
            first[key] for key in keys
        ]
