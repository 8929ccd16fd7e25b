"""Whether two ways of scoring give the same."""

from __future__ import annotations

import numpy as np

import inferflow


def assert_same(ours: inferflow.Scores, theirs: inferflow.Scores) -> None:
    """To the last bit, marks included."""
    assert ours.ids == theirs.ids
    for mine, other in ((ours.targets, theirs.targets), (ours.groups, theirs.groups)):
        assert (mine is None) == (other is None)
        if mine is not None and other is not None:
            assert mine.errors == other.errors
            for name, column in mine.columns.items():
                assert other.columns[name].dtype is column.dtype
                np.testing.assert_array_equal(other.columns[name].values, column.values)
